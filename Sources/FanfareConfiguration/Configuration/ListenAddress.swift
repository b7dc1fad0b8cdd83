/// An address that the HTTP server listens on.
public enum ListenAddress: Equatable, Sendable, CustomStringConvertible {
    /// A host name or address, and a port; port 0 selects any free port.
    case tcp(host: String, port: Int)
    /// An absolute path of a Unix socket.
    case unix(path: String)

    /// The host if the address names none.
    static let loopback = "127.0.0.1"

    /// Whether only this host can connect.
    public var isLocal: Bool {
        switch self {
        case .unix: true
        case .tcp(let host, _):
            // A host name may begin like an address: 127.example.com.
            host.lowercased() == "localhost" || host == "::1"
                || host.hasPrefix("127.") && host.allSatisfy { $0.isNumber || $0 == "." }
        }
    }

    /// Whether it is a port of the loopback interface.
    public var isLoopback: Bool { if case .tcp = self { isLocal } else { false } }

    /// The address in the form of the configuration.
    public var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    /// Parses `HOST:PORT`, `[ADDRESS]:PORT` or `:PORT`, which means loopback.
    ///
    /// - Parameter text: the address without a leading `unix:`.
    package init?(tcp text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65_535).contains(port), text[text.index(after: colon)...].allSatisfy(\.isNumber)
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
            guard host.contains(":"), host.allSatisfy({ $0.isHexDigit || ":.".contains($0) }) else { return nil }
        } else {
            guard host.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || ".-".contains($0)) })
            else { return nil }
        }
        self = .tcp(host: host.isEmpty ? Self.loopback : String(host), port: port)
    }
}

extension ConfigurationValueKind<ListenAddress> {
    /// An address for the HTTP server.
    package static var listenAddress: Self {
        let expected = "expected HOST:PORT, :PORT or unix:/PATH"
        return .init(
            name: "string",
            range: "[HOST]:PORT or unix:/PATH",
            parse: { (raw, place) throws(ConfigurationValueError) in
                let text = try raw.string(expected: expected).withoutVariables()
                if text.hasPrefix("unix:") {
                    let path = try place.path(String(text.dropFirst(5)))
                    // The size limit of `sockaddr_un`.
                    guard (2...107).contains(path.utf8.count) else {
                        throw ConfigurationValueError(
                            "expected unix:/PATH of at most 107 bytes, found \(path.utf8.count)"
                        )
                    }
                    return .unix(path: path)
                }
                guard let address = ListenAddress(tcp: text) else {
                    throw ConfigurationValueError("\(expected), found “\(text.prefix(80))”")
                }
                return address
            },
            text: { $0.description }
        )
    }
}
