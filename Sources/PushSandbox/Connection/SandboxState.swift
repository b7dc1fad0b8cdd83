import Foundation
import NIOCore
import Threading

/// What all connections of a sandbox share.
final class SandboxState: Sendable {
    let router: Router
    let faults: FaultPlan
    let ledger: Ledger
    let options: SandboxOptions
    /// What keys and secrets of simulated devices are derived from.
    let secret: Data
    private let connections = Locked<(next: Int, open: [Int: any Channel])>((next: 1, open: [:]))

    init(router: Router, faults: FaultPlan, ledger: Ledger, options: SandboxOptions, secret: Data) {
        self.router = router
        self.faults = faults
        self.ledger = ledger
        self.options = options
        self.secret = secret
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

    /// Makes a simulated device at each provider.
    func devices(named name: String, _ ready: SandboxReady) throws(SandboxError) -> [SimulatedDevice] {
        guard name.wholeMatch(of: /[A-Za-z0-9-]{1,60}/) != nil else {
            throw SandboxError(.invalidOption, "name: must be 1 to 60 letters, digits and hyphens")
        }
        let place = SandboxPlace(options, ports: (ready.tlsPort, ready.sandboxTLSPort), secret: secret)
        return SimulatedProviders.all.compactMap { $0.device(named: name, place) }
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
