/// An https URL, taken apart: where to connect, and what to ask for there.
///
/// What recipients name, such as a Web Push endpoint, may be a capability: whoever knows one can send. So its description, and
/// errors about it, name its origin at most.
public struct HTTPSURL: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Scheme, host and port.
    public let origin: Endpoint

    /// Path and query, byte for byte as they were given; `/` where there was no path.
    public let target: [UInt8]

    /// Takes a URL apart.
    ///
    /// - Parameter text: the URL, without user information and fragment.
    /// - Throws: ``EndpointError``, which says what is wrong without what comes after the host.
    public init(_ text: String) throws(EndpointError) {
        let scheme = "https://"
        guard text.utf8.count > scheme.utf8.count, text.prefix(scheme.count).lowercased() == scheme else {
            throw EndpointError("", .scheme)
        }
        let rest = text.dropFirst(scheme.count)
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        origin = try Endpoint(scheme + rest[..<end])
        var target = Array(rest[end...].utf8)
        if target.first != UInt8(ascii: "/") { target.insert(UInt8(ascii: "/"), at: 0) }
        guard target.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }) else {
            throw EndpointError(origin.description, .target)
        }
        self.target = target
    }

    /// The origin.
    public var description: String { origin.description }

    /// Shows nothing within.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
