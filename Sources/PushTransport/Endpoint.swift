/// The validated https origin of a provider.
public struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// The host that the certificate must contain: a DNS name, an IPv4 address, or an IPv6 address without brackets.
    public let host: String

    /// The TCP port.
    public let port: UInt16

    /// Parses an origin such as `https://api.push.apple.com` or `https://[::1]:8443`.
    ///
    /// A path other than `/`, a query, a fragment or user information is rejected: each request has its own path.
    ///
    /// - Parameter text: the origin; the port defaults to 443.
    /// - Throws: ``EndpointError``, which says what is wrong.
    public init(_ text: String) throws(EndpointError) {
        let scheme = "https://"
        guard text.lowercased().hasPrefix(scheme) else { throw EndpointError(text, .scheme) }
        var authority = text.dropFirst(scheme.count)
        if authority.hasSuffix("/") { authority.removeLast() }
        guard !authority.contains(where: { "/?#".contains($0) }) else { throw EndpointError(text, .notAnOrigin) }
        guard !authority.contains("@") else { throw EndpointError(text, .userInformation) }
        let (host, port) = try Self.split(authority, of: text)
        guard Self.isHost(host) else { throw EndpointError(text, .host) }
        guard let number = UInt16(port), number > 0 else { throw EndpointError(text, .port) }
        self.host = host.lowercased()
        self.port = number
    }

    /// Apple's server for devices with App Store, TestFlight, Ad Hoc and Enterprise builds (reference: Apple, "Sending
    /// notification requests to APNs").
    public static let apnsProduction = Endpoint(host: "api.push.apple.com", port: 443)

    /// Apple's server for devices with development-signed builds.
    public static let apnsSandbox = Endpoint(host: "api.sandbox.push.apple.com", port: 443)

    /// Apple's server for managing production broadcast channels (reference: Apple, "Sending channel management
    /// requests to APNs").
    public static let channelsProduction = Endpoint(host: "api-manage-broadcast.push.apple.com", port: 2196)

    /// Apple's server for managing broadcast channels of development-signed builds.
    public static let channelsSandbox = Endpoint(host: "api-manage-broadcast.sandbox.push.apple.com", port: 2195)

    /// Google's server for FCM messages and topics.
    public static let fcm = Endpoint(host: "fcm.googleapis.com", port: 443)

    private init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Whether the host name ends in `.invalid`, which never resolves (RFC 6761 section 6.4).
    public var isNowhere: Bool { host == "invalid" || host.hasSuffix(".invalid") }

    /// The origin as it appears in a URL.
    public var description: String {
        "https://" + authority
    }

    /// Host and port as in the `:authority` field: without the port if it is 443.
    public var authority: String {
        port == 443 ? bracketedHost : hostAndPort
    }

    /// Host and port, as CONNECT names them.
    public var hostAndPort: String { "\(bracketedHost):\(port)" }

    private var bracketedHost: String { host.contains(":") ? "[\(host)]" : host }

    private static func split(
        _ authority: Substring,
        of text: String
    ) throws(EndpointError) -> (host: Substring, port: Substring) {
        var host = authority
        var rest = authority.suffix(0)
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { throw EndpointError(text, .host) }
            host = authority[authority.index(after: authority.startIndex)..<end]
            rest = authority[authority.index(after: end)...]
            guard host.contains(":") else { throw EndpointError(text, .host) }
        } else if let colon = authority.firstIndex(of: ":") {
            host = authority[..<colon]
            rest = authority[colon...]
        }
        if rest.isEmpty { return (host, "443") }
        guard rest.first == ":", rest.dropFirst().isDigits else {
            throw EndpointError(text, .port)
        }
        return (host, rest.dropFirst())
    }

    private static func isHost(_ host: Substring) -> Bool {
        guard !host.isEmpty, host.utf8.count <= 253 else { return false }
        if host.contains(":") { return host.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." } }
        return host.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            !label.isEmpty && label.utf8.count <= 63 && label.first != "-" && label.last != "-"
                && label.utf8.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}

/// The reason why a text is not an endpoint.
public struct EndpointError: Error, Equatable, CustomStringConvertible {
    /// The kind of problem.
    public enum Reason: Sendable {
        /// It does not begin with `https://`.
        case scheme
        /// It has a path, query or fragment.
        case notAnOrigin
        /// It has a user name or password.
        case userInformation
        /// The host is missing or malformed.
        case host
        /// The port is not a number from 1 to 65535.
        case port
        /// The URL's path or query contains characters that must not be sent, or the URL has a fragment.
        case target
    }

    /// The kind of problem.
    public let reason: Reason

    /// The rejected text; empty if it may contain a password.
    public let text: String

    init(_ text: String, _ reason: Reason) {
        self.reason = reason
        self.text = text.contains("@") ? "" : text
    }

    /// One line for the operator, with the remedy.
    public var description: String {
        switch reason {
        case .scheme: "endpoint \"\(text)\": must begin with https:// (providers speak TLS only)"
        case .notAnOrigin: "endpoint \"\(text)\": give only scheme, host and port, without a path"
        case .userInformation: "endpoint: must not contain a user name or password"
        case .host: "endpoint \"\(text)\": no valid host name or address (IPv6 goes in brackets)"
        case .port: "endpoint \"\(text)\": the port must be a number from 1 to 65535"
        case .target: "URL at \(text): path and query must be visible ASCII, without a fragment"
        }
    }
}
