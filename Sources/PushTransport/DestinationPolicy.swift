/// The origins that a transport may connect to, where registrations name them, as with Web Push endpoints.
///
/// The host name is checked first, and the resolved address at connect time: a name may resolve to any address, and to
/// another one the next time.
public struct DestinationPolicy: Sendable, Equatable {
    private let hosts: [HostPattern]
    private let networks: [IPNetwork]

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - hosts: the allowed host names. A leading `*.` matches one or more labels, and `*` alone matches every name.
    ///     `:` and a port may follow; without one the port is 443, except at addresses in `networks`.
    ///   - networks: the address blocks that are allowed although they are not public, such as `127.0.0.1/32`.
    /// - Throws: ``DestinationPolicyError`` for a malformed pattern or block.
    public init(hosts: [String], networks: [String] = []) throws(DestinationPolicyError) {
        var patterns: [HostPattern] = []
        for host in hosts {
            guard let pattern = HostPattern(host) else { throw .host(host) }
            patterns.append(pattern)
        }
        var blocks: [IPNetwork] = []
        for network in networks {
            guard let block = IPNetwork(network) else { throw .network(network) }
            blocks.append(block)
        }
        self.hosts = patterns
        self.networks = blocks
    }

    /// Returns whether requests to an origin are allowed by its host name.
    ///
    /// - Parameter origin: scheme, host and port.
    /// - Returns: whether the name is allowed and the port may be allowed at some address.
    public func allows(_ origin: Endpoint) -> Bool {
        hosts.contains { $0.matches(origin) }
    }

    /// Returns whether connecting to an address is allowed.
    ///
    /// - Parameters:
    ///   - address: the address to which the origin's name resolved.
    ///   - origin: scheme, host and port.
    /// - Returns: whether the address is in one of the networks, or is public and the port is allowed.
    public func allows(_ address: IPAddress, of origin: Endpoint) -> Bool {
        guard allows(origin) else { return false }
        if networks.contains(where: { $0.contains(address) }) { return true }
        return address.isPublic && (origin.port == 443 || hosts.contains { $0.matches(origin) && $0.port != nil })
    }
}

/// The reason why a policy cannot be created.
public enum DestinationPolicyError: Error, Equatable, CustomStringConvertible {
    /// A text that is not a host name pattern.
    case host(String)
    /// A text that is not an address block.
    case network(String)

    /// One line for the operator, with the remedy.
    public var description: String {
        switch self {
        case .host(let text):
            "\"\(text)\" is not a host; give a name such as push.example.com, or *.example.com, with or without a port"
        case .network(let text):
            "\"\(text)\" is not a network; give a block such as 10.1.0.0/16 or fd00::/8, without bits after the prefix"
        }
    }
}

/// A host name or a suffix of host names, with or without a port.
struct HostPattern: Sendable, Equatable {
    /// The allowed port; nil if the pattern has none.
    let port: UInt16?
    private let host: String
    private let isWildcard: Bool

    init?(_ text: String) {
        if text == "*" {
            (host, port, isWildcard) = ("", nil, true)
            return
        }
        let isWildcard = text.hasPrefix("*.")
        let rest = isWildcard ? text.dropFirst(2) : text[...]
        guard let endpoint = try? Endpoint("https://" + rest), !rest.hasSuffix("/") else { return nil }
        guard !(isWildcard && IPAddress(endpoint.host) != nil) else { return nil }
        self.isWildcard = isWildcard
        host = isWildcard ? "." + endpoint.host : endpoint.host
        let namesPort = rest.hasSuffix(":443") || endpoint.port != 443
        port = namesPort ? endpoint.port : nil
    }

    func matches(_ origin: Endpoint) -> Bool {
        if let port, port != origin.port { return false }
        // Addresses have no labels, so only `*` alone matches them as a wildcard.
        return isWildcard ? host.isEmpty || origin.host.hasSuffix(host) : origin.host == host
    }
}
