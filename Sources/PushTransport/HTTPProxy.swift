/// An HTTP proxy through which connections to providers are tunnelled (CONNECT, RFC 9110 section 9.3.6).
///
/// The proxy learns a provider's host and port only: TLS is end to end through the tunnel.
public struct HTTPProxy: Hashable, Sendable, CustomStringConvertible {
    /// The protocol between the client and the proxy.
    public enum Scheme: String, Sendable {
        /// Without encryption.
        case http
        /// Over TLS, verified like a provider's.
        case https
    }

    /// The protocol between the client and the proxy.
    public let scheme: Scheme

    /// A DNS name, an IPv4 address, or an IPv6 address without brackets.
    public let host: String

    /// The TCP port.
    public let port: UInt16

    /// Parses the address of a proxy, such as `http://proxy.example.com:3128`.
    ///
    /// - Parameter text: scheme, host and port, without anything else; the port is required, since proxies have no
    ///   common one.
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
        // The endpoint parser assumes port 443 if there is none.
        guard authority.hasSuffix(":\(origin.port)") else { throw .port }
        self.scheme = scheme
        host = origin.host
        port = origin.port
    }

    /// The address as it was configured.
    public var description: String {
        "\(scheme)://" + (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
    }
}

/// The reason why a text is not the address of a proxy.
///
/// Its description omits the text, which may contain a password.
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

    /// One line for the operator, with the remedy.
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
