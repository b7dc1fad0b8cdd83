import Foundation
import NIOCore
import Threading

/// The state that all connections of a sandbox share.
final class SandboxState: Sendable {
    let router: Router
    let faults: FaultPlan
    let ledger: Ledger
    let options: SandboxOptions
    /// The secret from which keys and secrets of simulated devices are derived.
    let secret: Data
    /// The apps that registered at FCM.
    let installations: FCMInstallations
    private let connections = Locked<(next: Int, open: [Int: any Channel])>((next: 1, open: [:]))

    init(
        router: Router,
        faults: FaultPlan,
        ledger: Ledger,
        options: SandboxOptions,
        secret: Data,
        installations: FCMInstallations
    ) {
        self.router = router
        self.faults = faults
        self.ledger = ledger
        self.options = options
        self.secret = secret
        self.installations = installations
    }

    /// Assigns a number to a new connection.
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

    /// Sends an event to every open connection.
    func broadcast(_ event: some Sendable) {
        let open = connections.withLock { Array($0.open.values) }
        for channel in open {
            channel.pipeline.fireUserInboundEventTriggered(event)
        }
    }

    /// Creates a simulated device at each provider.
    func devices(named name: String, _ ready: SandboxReady) throws(SandboxError) -> [SimulatedDevice] {
        guard name.wholeMatch(of: /[A-Za-z0-9-]{1,60}/) != nil else {
            throw SandboxError(.invalidOption, "name: must be 1 to 60 letters, digits and hyphens")
        }
        let place = SandboxPlace(options, ports: (ready.tlsPort, ready.sandboxTLSPort), secret: secret)
        return SimulatedProviders.all.compactMap { $0.device(named: name, place) }
    }

    /// Replaces the faults, and applies a changed stream limit or window.
    func replaceFaults(_ json: [UInt8]) throws(SandboxError) {
        try faults.replace(json)
        broadcast(SettingsChanged())
    }

    func clearFaults() {
        faults.clear()
        broadcast(SettingsChanged())
    }
}

/// An event that makes connections compare their announced stream limit and window with the current ones.
struct SettingsChanged: Sendable {}
