internal import Foundation
package import HTTPTypes

/// Finds the route of a request.
package struct RouteTable: Sendable {
    /// The result of a search.
    package enum Match: Sendable {
        case found(Route, names: [String: String])
        /// The path is known, but only for these methods.
        case otherMethods([HTTPRequest.Method])
        case unknown
    }

    private struct Entry: Sendable {
        let route: Route
        let segments: [Substring]
    }

    let routes: [Route]
    /// The routes by their number of segments.
    private let entries: [Int: [Entry]]

    /// Creates a table of routes; if two match a path, the one with fewer names in braces wins.
    package init(_ routes: [Route]) {
        self.routes = routes
        let all = routes.map { Entry(route: $0, segments: Self.segments(of: $0.path)) }
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

    private static func segments(of path: String) -> [Substring] {
        path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { $0 }
    }

    private static func openness(_ entry: Entry) -> Int { entry.segments.count { $0.hasPrefix("{") } }

    private static func names(_ wanted: [Substring], _ found: [Substring]) -> [String: String]? {
        var names: [String: String] = [:]
        for (wanted, found) in zip(wanted, found) {
            guard wanted.hasPrefix("{") else {
                guard wanted == found else { return nil }
                continue
            }
            guard !found.isEmpty, let text = found.removingPercentEncoding, !text.contains("\0") else { return nil }
            names[String(wanted.dropFirst().dropLast())] = text
        }
        return names
    }
}
