import NIOCore
import Threading

/// What all connections of a sandbox share.
final class SandboxState: Sendable {
    let router: Router
    let faults: FaultPlan
    let ledger: Ledger
    let options: SandboxOptions
    /// The simulated browsers.
    let subscribers: Subscribers
    private let connections = Locked<(next: Int, open: [Int: any Channel])>((next: 1, open: [:]))

    init(router: Router, faults: FaultPlan, ledger: Ledger, options: SandboxOptions, subscribers: Subscribers) {
        self.router = router
        self.faults = faults
        self.ledger = ledger
        self.options = options
        self.subscribers = subscribers
    }

    /// Gives a new connection its number.
    func register(_ channel: any Channel) -> Int {
        connections.withLock { connections in
            defer { connections.next += 1 }
            connections.open[connections.next] = channel
            return connections.next
        }
    }

    func unregister(_ number: Int) {
        connections.withLock { $0.open[number] = nil }
    }

    /// Tells every open connection.
    func broadcast(_ event: some Sendable) {
        let open = connections.withLock { Array($0.open.values) }
        for channel in open {
            channel.pipeline.fireUserInboundEventTriggered(event)
        }
    }

    /// Replaces the faults and lets a changed stream limit or window take effect.
    func replaceFaults(_ json: [UInt8]) throws(SandboxError) {
        try faults.replace(json)
        broadcast(SettingsChanged())
    }

    func clearFaults() {
        faults.clear()
        broadcast(SettingsChanged())
    }
}

/// Tells connections to compare the stream limit and the window they announced with those in force.
struct SettingsChanged: Sendable {}
