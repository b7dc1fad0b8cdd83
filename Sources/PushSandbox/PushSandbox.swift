import Foundation
import NIOCore
import Threading

/// Simulated push services on loopback: what `fanfare sandbox` and `fanfare dev` push to.
///
/// Plays the providers of `SimulatedProviders` over TLS with HTTP/2, checks requests as the real services do, lets things go wrong on demand and keeps a ledger of all it received. It shares no code with Fanfare's senders, so that a mistake there shows here.
public final class PushSandbox: Sendable {
    /// Ports and files.
    public let ready: SandboxReady

    /// The names of the simulated providers, as configurations and SQL have them.
    public static let providers = SimulatedProviders.all.map(\.name)

    private let state: SandboxState
    private let listeners: Listeners
    private let lock: FolderLock
    private let stopping = Locked<Task<Void, Never>?>(nil)

    private init(ready: SandboxReady, state: SandboxState, listeners: Listeners, lock: FolderLock) {
        self.ready = ready
        self.state = state
        self.listeners = listeners
        self.lock = lock
    }

    /// Port of the production environment.
    public var tlsPort: Int { ready.tlsPort }
    /// Port of the APNs sandbox environment.
    public var sandboxTLSPort: Int { ready.sandboxTLSPort }
    /// Port of the control interface.
    public var controlPort: Int { ready.controlPort }

    /// Makes the folder's files, opens the ports and begins to serve.
    ///
    /// A folder that an earlier sandbox used keeps its CA, certificates and keys, and so its simulated browsers; its
    /// ledger becomes `received.previous.jsonl`.
    ///
    /// - Parameter options: folder, ports, credential, faults and so on.
    /// - Returns: the running sandbox; `stop()` must be called on it.
    /// - Throws: `SandboxError`.
    public static func start(_ options: SandboxOptions) async throws -> PushSandbox {
        try options.check()
        let folder = try SandboxFolder.open(options)
        let faults = FaultPlan()
        if let json = options.faults {
            try faults.replace(json)
        }
        let parts = SimulatorParts(options: options, folder: folder, faults: faults)
        let state = SandboxState(
            router: Router(simulators: try SimulatedProviders.all.flatMap { try $0.simulators(parts) }),
            faults: faults,
            ledger: try Ledger(
                path: options.sink ? nil : folder.ledgerFile,
                collapsePrefix: options.ledgerCollapsePrefix
            ),
            options: options,
            secret: folder.subscriberSecret
        )
        do {
            let (listeners, ready) = try await Listeners.open(state: state, folder: folder)
            return PushSandbox(ready: ready, state: state, listeners: listeners, lock: folder.lock)
        } catch {
            state.ledger.close()
            throw error
        }
    }

    /// Waits until the sandbox is stopped; when the calling task is cancelled, stops it.
    public func run() async {
        let listener = listeners.first
        await withTaskCancellationHandler {
            try? await listener?.closeFuture.get()
        } onCancel: {
            listener?.close(promise: nil)
        }
        await stop()
    }

    /// Closes all ports and connections and writes the ledger out; every call returns when that is done.
    public func stop() async {
        let task = stopping.withLock { stopping in
            // Awaited by every caller of stop().
            let task = stopping ?? Task { await self.shutDown() }
            stopping = task
            return task
        }
        await task.value
    }

    private func shutDown() async {
        await listeners.stopListening()
        state.broadcast(CutNow())
        state.ledger.close()
        await listeners.shutDown()
        lock.release()
    }

    /// What was counted since the start.
    public var counts: SandboxCounts {
        state.ledger.counts
    }

    /// Waits until a number of complete requests has been received in all.
    ///
    /// - Parameters:
    ///   - number: how many, counted from the start.
    ///   - time: how long to wait at most.
    /// - Returns: the counts, which fall short of the number after the time-out.
    public func counts(atLeast number: Int, within time: Duration) async -> SandboxCounts {
        await state.ledger.wait(forReceived: number, atMost: TimeAmount(time))
        return counts
    }

    /// Reads the ledger, waiting for something newer than a line that is already known.
    ///
    /// - Parameters:
    ///   - n: number of the last line known; 0 for none.
    ///   - limit: how many to return at most.
    ///   - time: how long to wait while there is nothing newer.
    /// - Returns: what came after the n-th, in order; empty after the time-out or when the sandbox stops.
    /// - Throws: `SandboxError` if the sandbox is a sink or its ledger could not be written.
    public func received(after n: Int, limit: Int = .max, within time: Duration = .zero) async throws -> [ReceivedPush]
    {
        await state.ledger.wait(forReceived: n + 1, atMost: TimeAmount(time))
        var pushes: [ReceivedPush] = []
        try await state.ledger.extent(after: n).forEachBlock(limit: limit) { lines in
            let decoder = JSONDecoder()
            for line in lines.split(separator: UInt8(ascii: "\n")) {
                pushes.append(try decoder.decode(ReceivedPush.self, from: line))
            }
        }
        return pushes
    }

    /// Makes a simulated browser subscribe.
    ///
    /// Nothing is stored: the same name, service and key give the same subscription, also after a restart on the same
    /// folder and port.
    ///
    /// - Parameters:
    ///   - name: 1 to 200 characters of the base64url alphabet.
    ///   - service: the push service of the browser.
    ///   - key: the VAPID key that the subscription is restricted to.
    /// - Returns: endpoint and keys, as a browser hands them to an application.
    /// - Throws: `SandboxError` if name or key are malformed.
    public func subscription(
        _ name: String,
        service: WebPushService = .rfc,
        restrictedTo key: ApplicationServerKey = .sandbox
    ) throws(SandboxError) -> PushSubscription {
        try SubscriptionMaker(subscribers: Subscribers(secret: state.secret), origin: ready.origin)
            .subscription(name, service, key)
    }

    /// Makes a simulated device at each provider.
    ///
    /// Nothing is stored: the same name gives the same devices, also after a restart on the same folder and port.
    ///
    /// - Parameter name: 1 to 60 letters, digits and hyphens.
    /// - Returns: one for each of ``providers``, in their order.
    /// - Throws: `SandboxError` if the name is malformed.
    public func devices(named name: String) throws(SandboxError) -> [SimulatedDevice] {
        try state.devices(named: name, ready)
    }

    /// Puts a list of faults in the place of those in force.
    ///
    /// - Parameter json: the list that `POST /faults` takes.
    /// - Throws: `SandboxError` naming index and field of the first mistake; the old faults then stay.
    public func replaceFaults(_ json: [UInt8]) throws(SandboxError) {
        try state.replaceFaults(json)
    }

    /// Ends all faults.
    public func clearFaults() {
        state.clearFaults()
    }
}
