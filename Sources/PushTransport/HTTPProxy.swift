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

    /// The host and the port of the proxy.
    public let endpoint: Endpoint

    /// The name that the proxy knows this host by; nil for a proxy without authentication.
    public let user: String?

    /// The password of ``user``; nil without a user.
    public var password: ProxyPassword?

    /// Parses the address of a proxy, such as `http://proxy.example.com:3128` or `http://user@proxy.example.com:3128`.
    ///
    /// - Parameter text: scheme, user if any, host and port, without anything else; the port is required, since proxies
    ///   have no common one.
    /// - Throws: ``HTTPProxyError``, which says what is wrong.
    public init(_ text: String) throws(HTTPProxyError) {
        guard let mark = text.firstRange(of: "://"),
            let scheme = Scheme(rawValue: text[..<mark.lowerBound].lowercased())
        else { throw .scheme }
        var authority = text[mark.upperBound...]
        var user: String?
        if let at = authority.lastIndex(of: "@") {
            let name = authority[..<at]
            guard !name.contains(":") else { throw .password }
            guard !name.contains(where: { "/?#".contains($0) }) else { throw .path }
            guard !name.isEmpty, name.utf8.count <= 256, name.utf8.allSatisfy({ 0x21...0x7e ~= $0 }),
                !name.contains("%")
            else { throw .user }
            user = String(name)
            authority = authority[authority.index(after: at)...]
        }
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
        self.user = user
        endpoint = origin
    }

    /// The address without the user.
    public var description: String { "\(scheme)://\(endpoint.hostAndPort)" }

    /// Returns the user and the password.
    ///
    /// - Returns: `USER:PASSWORD`, which is a secret; nil for a proxy without authentication.
    /// - Throws: ``TransportError`` if the password cannot be read.
    public func credentials() throws(TransportError) -> String? {
        guard let user, let password else { return nil }
        do {
            return "\(user):\(try password.read())"
        } catch {
            throw TransportError(reason: .proxyPassword(problem: "\(error)"))
        }
    }

    /// Returns the reason why no tunnel was opened, safe to log.
    ///
    /// - Parameter status: the status of the proxy's answer to CONNECT.
    /// - Returns: one line for the operator.
    public func refusal(_ status: Int) -> String {
        let answer = "proxy \(self) answers CONNECT with status \(status)"
        // Tinyproxy answers 401 to a wrong password.
        guard [401, 407].contains(status) else { return answer }
        return user == nil
            ? "\(answer): it requires a user and a password" : "\(answer): it refuses the user or the password"
    }
}

/// The password for a proxy; two are equal if they are read from the same file.
public struct ProxyPassword: Hashable, Sendable {
    private let file: String
    /// Reads the password, which may have changed since the last call; the error is safe to log.
    let read: @Sendable () throws -> String

    /// - Parameters:
    ///   - file: the path of the file.
    ///   - read: reads the password from the file; called for each connection.
    public init(file: String, read: @escaping @Sendable () throws -> String) {
        self.file = file
        self.read = read
    }

    /// Compares the files.
    public static func == (one: ProxyPassword, other: ProxyPassword) -> Bool { one.file == other.file }

    /// Feeds the file to a hasher.
    public func hash(into hasher: inout Hasher) { hasher.combine(file) }
}

/// The reason why a text is not the address of a proxy.
///
/// Its description omits the text, which may contain a password.
public enum HTTPProxyError: Error, Equatable, CustomStringConvertible {
    /// It begins with neither `http://` nor `https://`.
    case scheme
    /// It has a password.
    case password
    /// The user name is empty, too long, or has characters other than visible ASCII without `%`.
    case user
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
        case .password:
            return "\(expected), with USER@ before the host; name the file of the password in send.proxy_password_file"
        case .user:
            return
                "\(expected), with USER@ before the host; found no user of 1 to 256 visible ASCII characters without %"
        case .path: return "\(expected), without a path or a slash at the end"
        case .host: return "\(expected), found no valid host name or address (IPv6 goes in brackets)"
        case .port: return "\(expected), found no port from 1 to 65535"
        }
    }
}
