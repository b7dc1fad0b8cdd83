extension IPAddress {
    /// Whether the address is reachable on the public internet, and not private, loopback, link-local, shared,
    /// documentation, benchmarking, multicast or reserved.
    ///
    /// Follows the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890) and the multicast blocks. Addresses
    /// in these blocks count as not public even where the registry calls them reachable, since no registered endpoint
    /// needs one. An IPv4 address inside an IPv6 address is checked by itself where packets reach it: in mapped
    /// addresses, and in those of the NAT64 prefix `64:ff9b::/96` (RFC 6052), through which hosts without IPv4 reach
    /// all of IPv4.
    public var isPublic: Bool {
        if v4 != nil { return !Self.specialV4.contains { $0.contains(self) } }
        if Self.translated.contains(where: { $0.contains(self) }) {
            return IPAddress(v4: UInt32(truncatingIfNeeded: bits)).isPublic
        }
        return Self.globalUnicast.contains { $0.contains(self) } && !Self.specialV6.contains { $0.contains(self) }
    }

    static let specialV4 = networks([
        "0.0.0.0/8",  // this network
        "10.0.0.0/8",  // private use
        "100.64.0.0/10",  // shared address space of carriers
        "127.0.0.0/8",  // loopback
        "169.254.0.0/16",  // link local; metadata services of clouds
        "172.16.0.0/12",  // private use
        "192.0.0.0/24",  // IETF protocol assignments
        "192.0.2.0/24",  // documentation
        "192.31.196.0/24",  // AS112
        "192.52.193.0/24",  // AMT
        "192.88.99.0/24",  // 6to4 relay, deprecated
        "192.168.0.0/16",  // private use
        "192.175.48.0/24",  // AS112
        "198.18.0.0/15",  // benchmarking
        "198.51.100.0/24",  // documentation
        "203.0.113.0/24",  // documentation
        "224.0.0.0/4",  // multicast
        "240.0.0.0/4",  // reserved, and broadcast
    ])

    /// The block assigned to networks; loopback, private, link-local and multicast addresses are outside.
    static let globalUnicast = networks(["2000::/3"])

    static let specialV6 = networks([
        "2001::/23",  // IETF protocol assignments: Teredo, benchmarking, ORCHID
        "2001:db8::/32",  // documentation
        "2002::/16",  // 6to4
        "2620:4f:8000::/48",  // AS112
        "3fff::/20",  // documentation
    ])

    static let translated = networks(["64:ff9b::/96"])

    private static func networks(_ texts: [String]) -> [IPNetwork] {
        texts.map { text in
            guard let network = IPNetwork(text) else { preconditionFailure("no network: \(text)") }
            return network
        }
    }
}
