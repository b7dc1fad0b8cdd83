/// Which origins a transport may connect to, where strangers name them, as browsers name Web Push endpoints.
///
/// Two things are asked: whether the name is allowed, and at connect time whether the address is, since a name may
/// resolve to anything and to something else the next time.
public struct DestinationPolicy: Sendable, Equatable {
    private let hosts: [HostPattern]
    private let networks: [IPNetwork]

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - hosts: names that may be sent to. `*.` in front stands for one or more labels, `*` alone for every name.
    ///     `:` and a port may follow; without one the port is 443, except at addresses in `networks`.
    ///   - networks: blocks of addresses that may be connected to although they are not public, such as `127.0.0.1/32`.
    /// - Throws: ``DestinationPolicyError`` for text that is neither.
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

    /// Whether an origin's name may be sent to.
    ///
    /// - Parameter origin: scheme, host and port.
    /// - Returns: whether its name is allowed, and its port not ruled out whatever the address.
    public func allows(_ origin: Endpoint) -> Bool {
        hosts.contains { $0.matches(origin) }
    }

    /// Whether an address may be connected to.
    ///
    /// - Parameters:
    ///   - address: what the origin's name resolved to.
    ///   - origin: scheme, host and port.
    /// - Returns: whether it is in one of the networks, or public with an allowed port.
    public func allows(_ address: IPAddress, of origin: Endpoint) -> Bool {
        guard allows(origin) else { return false }
        if networks.contains(where: { $0.contains(address) }) { return true }
        return address.isPublic && (origin.port == 443 || hosts.contains { $0.matches(origin) && $0.port != nil })
    }
}

/// Why a policy cannot be made.
public enum DestinationPolicyError: Error, Equatable, CustomStringConvertible {
    /// A text that is no pattern of host names.
    case host(String)
    /// A text that is no block of addresses.
    case network(String)

    /// One line for the operator, with the mend.
    public var description: String {
        switch self {
        case .host(let text):
            "\"\(text)\" is no host; give a name such as push.example.com, or *.example.com, with or without a port"
        case .network(let text):
            "\"\(text)\" is no network; give a block such as 10.1.0.0/16 or fd00::/8, without bits after the prefix"
        }
    }
}

/// A host name, or the end of host names, with or without a port.
struct HostPattern: Sendable, Equatable {
    /// The only port; nil if the pattern names none.
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
        // An address has no labels for a wildcard to stand for; `*` alone takes addresses too.
        return isWildcard ? host.isEmpty || origin.host.hasSuffix(host) : origin.host == host
    }
}
