/// A parsed https URL: the origin to connect to, and the request target.
///
/// A URL from a registration, such as a Web Push endpoint, can be a capability: a client that knows it can send. So its
/// description and the errors about it contain its origin at most.
public struct HTTPSURL: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Scheme, host and port.
    public let origin: Endpoint

    /// Path and query exactly as given; `/` if there is no path.
    public let target: [UInt8]

    /// Parses a URL.
    ///
    /// - Parameter text: the URL, without user information and fragment.
    /// - Throws: ``EndpointError``, whose text contains nothing after the host.
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

    /// Has no children, so that reflection does not reveal the target.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
