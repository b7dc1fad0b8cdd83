package import FanfareCore
internal import Foundation
package import HTTPTypes

/// One method of one path.
package struct Route: Sendable {
    /// The largest body, in bytes.
    package static let largestBody = 1 << 20

    let method: HTTPRequest.Method
    /// The path as in the OpenAPI document: `/v1/events/{id}`.
    package let path: String
    /// The scope that a token needs; nil if no token is needed.
    let scope: TokenScope?
    /// Whether phone tokens of an app's backend are accepted; ``handle`` then limits the request to the token's user.
    let isForPhones: Bool
    /// Whether report keys of devices are accepted in place of Fanfare's own tokens; ``handle`` checks the key.
    let isForReports: Bool
    /// Returns how many bytes of a request's body are read.
    let bodyLimit: @Sendable (Call) async -> Int
    /// Handles a request.
    let handle: @Sendable (Call) async throws -> Answer

    /// Creates a route.
    ///
    /// - Parameters:
    ///   - method: its method.
    ///   - path: the path, with names in braces for its variable segments.
    ///   - scope: the scope that a token needs; nil if no token is needed.
    ///   - isForPhones: whether phone tokens are accepted.
    ///   - isForReports: whether report keys of devices are accepted.
    ///   - handle: handles a request.
    ///   - bodyLimit: returns how many bytes of a request's body are read; by default none if no token is needed.
    package init(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ scope: TokenScope?,
        forPhones isForPhones: Bool = false,
        forReports isForReports: Bool = false,
        _ handle: @escaping @Sendable (Call) async throws -> Answer,
        bodyLimit: (@Sendable (Call) async -> Int)? = nil
    ) {
        (self.method, self.path, self.scope, self.handle) = (method, path, scope, handle)
        (self.isForPhones, self.isForReports) = (isForPhones, isForReports)
        self.bodyLimit = bodyLimit ?? { _ in scope == nil ? 0 : Self.largestBody }
    }

    /// Whether requests of this method have a body.
    var takesBody: Bool { [.post, .put, .patch].contains(method) }
}

/// Finds the route of a request.
package struct RouteTable: Sendable {
    /// The result of a search.
    package enum Match: Sendable {
        case found(Route, names: [String: String])
        /// The path is known, but only for these methods.
        case otherMethods([HTTPRequest.Method])
        case unknown
    }

    /// A segment of a route's path.
    private enum Segment: Sendable {
        case text(Substring)
        /// Any text, which the route knows by this name.
        case name(String)

        init(_ text: Substring) {
            self = text.hasPrefix("{") ? .name(String(text.dropFirst().dropLast())) : .text(text)
        }

        var isOpen: Bool {
            if case .name = self { true } else { false }
        }
    }

    private struct Entry: Sendable {
        let route: Route
        let segments: [Segment]
    }

    let routes: [Route]
    /// The routes by their number of segments.
    private let entries: [Int: [Entry]]

    /// Creates a table of routes; if two match a path, the one with fewer names in braces wins.
    package init(_ routes: [Route]) {
        self.routes = routes
        let all = routes.map { Entry(route: $0, segments: Self.segments(of: $0.path).map(Segment.init)) }
        entries = Dictionary(grouping: all) { $0.segments.count }
            .mapValues { $0.sorted { (Self.openness($0), $0.route.path) < (Self.openness($1), $1.route.path) } }
    }

    /// Finds the route of a request.
    ///
    /// - Parameters:
    ///   - method: the request's method.
    ///   - path: the target as it was sent, without the query; segments are decoded one by one, so that `%2F` splits
    ///     none.
    /// - Returns: the route with the values of its names, or why there is none.
    package func match(_ method: HTTPRequest.Method, _ path: String) -> Match {
        let segments = Self.segments(of: path)
        var others: [HTTPRequest.Method] = []
        var path: String?
        for entry in entries[segments.count] ?? [] {
            // If a more specific path matched, the methods of less specific paths do not apply.
            guard path == nil || path == entry.route.path, let names = Self.names(entry.segments, segments)
            else { continue }
            if entry.route.method == method { return .found(entry.route, names: names) }
            path = entry.route.path
            others.append(entry.route.method)
        }
        return others.isEmpty ? .unknown : .otherMethods(others)
    }

    /// Returns the methods of a path that phones and report keys may call, in the order of the table.
    ///
    /// - Parameter path: the target as it was sent, without the query.
    /// - Returns: the methods; none for an unknown path, and for a path that only backends may call.
    func methodsForPhones(at path: String) -> [HTTPRequest.Method] {
        let segments = Self.segments(of: path)
        let entries = entries[segments.count] ?? []
        let first = entries.first { Self.names($0.segments, segments) != nil }
        return entries.map(\.route)
            .filter { $0.path == first?.route.path && ($0.isForPhones || $0.isForReports) }
            .map(\.method)
    }

    private static func segments(of path: String) -> [Substring] {
        path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { $0 }
    }

    private static func openness(_ entry: Entry) -> Int { entry.segments.count(where: \.isOpen) }

    private static func names(_ wanted: [Segment], _ found: [Substring]) -> [String: String]? {
        var names: [String: String] = [:]
        for (wanted, found) in zip(wanted, found) {
            switch wanted {
            case .text(let text):
                guard text == found else { return nil }
            case .name(let name):
                guard let text = decode(found), !text.isEmpty, !text.utf8.contains(0) else { return nil }
                names[name] = text
            }
        }
        return names
    }

    /// Most segments have nothing to decode, and Foundation's function copies the text several times.
    private static func decode(_ segment: Substring) -> String? {
        segment.utf8.contains(UInt8(ascii: "%")) ? segment.removingPercentEncoding : String(segment)
    }
}
