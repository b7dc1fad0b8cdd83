internal import Foundation

/// An HTTPS origin: where a provider is reached.
public struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// Host name or address; IPv6 without brackets.
    public var host: String
    /// TCP port.
    public var port: Int

    /// Makes an endpoint.
    ///
    /// - Parameters:
    ///   - host: name or address; IPv6 without brackets.
    ///   - port: TCP port.
    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Reads `https://host[:port]`, with nothing but a slash behind it.
    ///
    /// - Parameter text: the URL.
    public init?(_ text: String) {
        guard let parts = URLComponents(string: text), parts.scheme == "https", parts.user == nil,
            parts.password == nil, parts.query == nil, parts.fragment == nil, ["", "/"].contains(parts.path),
            let host = parts.host, !host.isEmpty, (1...65_535).contains(parts.port ?? 443)
        else { return nil }
        self.init(host: host.trimmingCharacters(in: CharacterSet(charactersIn: "[]")), port: parts.port ?? 443)
    }

    /// The origin as a URL without a path; the port only where it is not 443.
    public var description: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == 443 ? "https://\(name)" : "https://\(name):\(port)"
    }
}
