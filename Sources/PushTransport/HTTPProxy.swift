/// An HTTP proxy that connections to providers are tunnelled through (CONNECT, RFC 9110 section 9.3.6).
///
/// It learns host and port of a provider, and nothing of what is said to it: TLS goes through the tunnel from end to end.
public struct HTTPProxy: Hashable, Sendable, CustomStringConvertible {
    /// How the proxy itself is spoken to.
    public enum Scheme: String, Sendable {
        /// In clear.
        case http
        /// By TLS, verified like a provider's.
        case https
    }

    /// How the proxy itself is spoken to.
    public let scheme: Scheme

    /// A DNS name, an IPv4 address, or an IPv6 address without brackets.
    public let host: String

    /// The TCP port.
    public let port: UInt16

    /// Parses a proxy's address such as `http://proxy.example.com:3128`.
    ///
    /// - Parameter text: scheme, host and port, and nothing else; proxies have no common port, so none is assumed.
    /// - Throws: ``HTTPProxyError``, which says what is wrong.
    public init(_ text: String) throws(HTTPProxyError) {
        guard let mark = text.firstRange(of: "://"),
            let scheme = Scheme(rawValue: text[..<mark.lowerBound].lowercased())
        else { throw .scheme }
        let authority = text[mark.upperBound...]
        guard !authority.contains("@") else { throw .userInformation }
        guard !authority.contains(where: { "/?#".contains($0) }) else { throw .path }
        let origin: Endpoint
        do throws(EndpointError) {
            origin = try Endpoint("https://\(authority)")
        } catch {
            throw error.reason == .port ? .port : .host
        }
        // An endpoint without a port gets one.
        guard authority.hasSuffix(":\(origin.port)") else { throw .port }
        self.scheme = scheme
        host = origin.host
        port = origin.port
    }

    /// The address again, as it is configured.
    public var description: String {
        "\(scheme)://" + (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
    }
}

/// Why a text is no proxy's address.
///
/// Its description does not hold the text, which may have a password in it.
public enum HTTPProxyError: Error, Equatable, CustomStringConvertible {
    /// It begins with neither `http://` nor `https://`.
    case scheme
    /// It has a user name or password.
    case userInformation
    /// It has a path, query or fragment.
    case path
    /// The host is missing or malformed.
    case host
    /// The port is missing or not a number from 1 to 65535.
    case port

    /// One line for the operator, with the mend.
    public var description: String {
        let expected = "expected http://HOST:PORT or https://HOST:PORT"
        switch self {
        case .scheme: return "\(expected); no other kind of proxy is known"
        case .userInformation: return "\(expected), without user name and password; let the proxy know this host"
        case .path: return "\(expected), without a path and a slash at its end"
        case .host: return "\(expected), found no valid host name or address (IPv6 goes in brackets)"
        case .port: return "\(expected), found no port from 1 to 65535"
        }
    }
}
