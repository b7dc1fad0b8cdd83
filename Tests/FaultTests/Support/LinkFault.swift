import Testing

/// A fault of one daemon's link, once or for a while.
struct LinkFault: Sendable, CustomTestStringConvertible {
    let name: String
    let harm: @Sendable (FaultProxy, Rig) async throws -> Void

    var testDescription: String { name }

    /// Returns a fault that applies a behaviour for a while.
    private static func lasting(_ name: String, _ behaviour: @escaping @Sendable (Rig) -> FaultProxy.Behaviour)
        -> LinkFault
    {
        LinkFault(name: name) { proxy, rig in
            proxy.behaviour = behaviour(rig)
            try await rig.hold(seconds: 3)
            proxy.behaviour = .pass
        }
    }

    private static let cut = LinkFault(name: "cut") { proxy, _ in proxy.cut() }
    private static let reset = LinkFault(name: "reset") { proxy, _ in proxy.reset() }
    private static let sliced = lasting("slices of 1 to 7 bytes") { .slice(bytes: $0.random(1...7)) }
    private static let delayed = lasting("delayed by 50 to 150 ms") { .delay(milliseconds: $0.random(50...150)) }
    private static let refused = LinkFault(name: "reset, then refused for 3 s") { proxy, rig in
        proxy.behaviour = .refuse
        proxy.reset()
        try await rig.hold(seconds: 3)
        proxy.behaviour = .pass
    }

    /// The faults of the link to the database.
    static let toDatabase = [cut, reset, sliced, delayed, refused]
    /// The faults of the link to the provider.
    static let toProvider = [cut, reset, sliced, delayed, refused]
}
