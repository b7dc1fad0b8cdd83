package import FanfareTools
internal import Foundation
package import HTTPTypes
package import NIOCore

/// One request, as its route sees it.
package struct Call: Sendable {
    package let context: ServerContext
    /// The database, acting for the request's token; for a route without a token, acting for the daemon.
    package let database: ToolDatabase
    /// The user of a phone token, who may read and change only their own data; nil for one of Fanfare's own tokens.
    package let phone: PhoneUser?
    /// The report key of a device, not checked yet; nil for tokens.
    package let reportKey: ReportKeyText?
    /// The id of Fanfare's own token; nil for a phone token and for a request without one.
    package let tokenID: Int32?
    /// The connection of the request; nil for none.
    package let channel: (any Channel)?
    package let method: HTTPRequest.Method
    /// The id in the log lines of the request.
    package let requestID: String
    /// The values of the names in the route's path.
    package var names: [String: String]
    /// The decoded query; the last value of a repeated name counts.
    package var query: [String: String]
    package let headers: HTTPFields
    /// The body as received; empty if there is none.
    package var body: [UInt8]
    /// The path as it was sent.
    package var path: String
    /// The host that the request names.
    package let authority: String?

    /// Returns the text of a name in the path.
    ///
    /// - Parameter name: the name, which the route has in braces.
    /// - Returns: the decoded text.
    package func name(_ name: String) -> String {
        guard let text = names[name] else { preconditionFailure("the route has no {\(name)}") }
        return text
    }

    /// Returns the id that a name in the path stands for.
    ///
    /// - Parameter name: the name, which the route has in braces.
    /// - Returns: the id.
    /// - Throws: a ``Problem`` with status 404 if the text is not a positive number, because every id is one.
    package func id(_ name: String) throws -> Int64 {
        guard let id = Int64(self.name(name)), id > 0 else {
            throw Problem(.absent, "{\(name)} in the path is not an id")
        }
        return id
    }

    /// Notes that the request's key was accepted, so that its connection is kept when others must be closed.
    package func trust() {
        if let channel { context.connections.trust(channel) }
    }

    /// Decodes a query or a form.
    ///
    /// - Parameter text: `application/x-www-form-urlencoded`.
    /// - Returns: the values by name; the last value of a repeated name counts.
    package static func values(in text: String) -> [String: String] {
        var query: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                .map { $0.replacing("+", with: " ").removingPercentEncoding ?? String($0) }
            query[parts[0]] = parts.count > 1 ? parts[1] : ""
        }
        return query
    }
}
