import Foundation
import NIOCore
import Threading

/// Simulated push services on loopback, which `fanfare sandbox` and `fanfare dev` push to.
///
/// It simulates the providers of `SimulatedProviders` over TLS with HTTP/2, checks requests as the real services do,
/// plays faults on demand, and keeps a ledger of all requests. It shares no code with Fanfare's senders, so that an
/// error there shows up here.
public final class PushSandbox: Sendable {
    /// The ports and files.
    public let ready: SandboxReady

    /// The names of the simulated providers in configurations and SQL.
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

    /// The port of the production environment.
    public var tlsPort: Int { ready.tlsPort }
    /// The port of the APNs sandbox environment.
    public var sandboxTLSPort: Int { ready.sandboxTLSPort }
    /// The port of the control interface.
    public var controlPort: Int { ready.controlPort }

    /// Creates the folder's files, opens the ports and starts to serve.
    ///
    /// A folder of an earlier sandbox keeps its CA, certificates and keys, and so its simulated browsers; its ledger
    /// becomes `received.previous.jsonl`.
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
        let installations = FCMInstallations()
        let parts = SimulatorParts(options: options, folder: folder, faults: faults, installations: installations)
        let state = SandboxState(
            router: Router(simulators: try SimulatedProviders.all.flatMap { try $0.simulators(parts) }),
            faults: faults,
            ledger: try Ledger(
                path: options.sink ? nil : folder.ledgerFile,
                collapsePrefix: options.ledgerCollapsePrefix
            ),
            options: options,
            secret: folder.subscriberSecret,
            installations: installations
        )
        do {
            let (listeners, ready) = try await Listeners.open(state: state, folder: folder)
            return PushSandbox(ready: ready, state: state, listeners: listeners, lock: folder.lock)
        } catch {
            state.ledger.close()
            throw error
        }
    }

    /// Waits for the sandbox's end; stops it if the calling task is cancelled.
    public func run() async {
        let listener = listeners.first
        await withTaskCancellationHandler {
            try? await listener?.closeFuture.get()
        } onCancel: {
            listener?.close(promise: nil)
        }
        await stop()
    }

    /// Closes all ports and connections and flushes the ledger; every call returns after that.
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

    /// The counts since the start.
    public var counts: SandboxCounts {
        state.ledger.counts
    }

    /// Waits until a number of complete requests has been received since the start.
    ///
    /// - Parameters:
    ///   - number: the number of requests since the start.
    ///   - time: the timeout.
    /// - Returns: the counts, which are below the number after a timeout.
    public func counts(atLeast number: Int, within time: Duration) async -> SandboxCounts {
        await state.ledger.wait(forReceived: number, atMost: TimeAmount(time))
        return counts
    }

    /// Reads the ledger after a known line, and waits for a new one.
    ///
    /// - Parameters:
    ///   - n: the number of the last known line; 0 for none.
    ///   - limit: the largest number of lines.
    ///   - time: the time to wait for a new line.
    /// - Returns: the lines after the n-th, in order; empty after a timeout or when the sandbox stops.
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

    /// Returns the subscription of a simulated browser.
    ///
    /// Nothing is stored: the same name, service and key give the same subscription, also after a restart on the same
    /// folder and port.
    ///
    /// - Parameters:
    ///   - name: the name: 1 to 200 characters of the base64url alphabet.
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

    /// Returns a simulated device at each provider.
    ///
    /// Nothing is stored: the same name gives the same devices, also after a restart on the same folder and port.
    ///
    /// - Parameter name: the name: 1 to 60 letters, digits and hyphens.
    /// - Returns: a device for each of ``providers``, in their order.
    /// - Throws: `SandboxError` if the name is malformed.
    public func devices(named name: String) throws(SandboxError) -> [SimulatedDevice] {
        try state.devices(named: name, ready)
    }

    /// Replaces the faults in force.
    ///
    /// - Parameter json: the list that `POST /faults` takes.
    /// - Throws: `SandboxError` naming index and field of the first mistake; the old faults then stay in force.
    public func replaceFaults(_ json: [UInt8]) throws(SandboxError) {
        try state.replaceFaults(json)
    }

    /// Ends all faults.
    public func clearFaults() {
        state.clearFaults()
    }
}
