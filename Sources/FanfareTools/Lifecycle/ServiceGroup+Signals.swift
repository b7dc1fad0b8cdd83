internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
public import Logging
public import ServiceLifecycle
internal import Threading
public import UnixSignals

extension ServiceGroup {
    /// How a run came to its end.
    public enum Ending: Sendable {
        /// The services ended by themselves, or drained as they were told to.
        case finished
        /// A signal demanded to stop at once; what was in flight is unrecorded.
        case stoppedAtOnce
    }

    /// The signals that ``run(signals:notifier:logger:reload:)`` is to be given.
    public static let daemonSignals: [UnixSignal] = [.sigterm, .sigint, .sighup]

    /// Runs the services until they end, under the signals of a daemon.
    ///
    /// TERM lets the services drain, a second TERM or an INT cancels them at once, HUP calls `reload`. The group's own
    /// configuration must name no signals: it would ignore a second TERM, and knows no HUP. Stopping at once is only as
    /// fast as the services' and the reload's answer to cancellation.
    ///
    /// - Parameters:
    ///   - signals: what arrives; a `UnixSignalsSequence(trapping: ServiceGroup.daemonSignals)`.
    ///   - notifier: told about draining and reloading.
    ///   - logger: told about each signal that is acted on.
    ///   - reload: reads the configuration again; never called twice at once. What goes wrong in it is its own business.
    /// - Returns: how the run ended.
    /// - Throws: what a service throws.
    public func run(
        signals: some AsyncSequence<UnixSignal, Never> & Sendable,
        notifier: SystemdNotifier,
        logger: Logger,
        reload: @escaping @Sendable () async -> Void
    ) async throws -> Ending {
        let watcher = SignalWatcher(group: self, notifier: notifier, logger: logger, reload: reload)
        return try await withThrowingTaskGroup(of: Ending?.self) { tasks in
            tasks.addTask {
                try await self.run()
                return .finished
            }
            tasks.addTask { await watcher.watch(signals) }
            var ending: Ending?
            do {
                while ending == nil, let event = try await tasks.next() { ending = event }
                tasks.cancelAll()
                try await tasks.waitForAll()
            } catch {
                // Cancelled services may throw what they like once they were told to stop at once.
                guard ending == .stoppedAtOnce else { throw error }
            }
            if ending == .finished, let since = watcher.drainingSince.withLock({ $0 }) {
                let spent = (Clocks.steady - since) / Micros.millisecond
                logger.notice(
                    "drained; pushes in flight are recorded",
                    metadata: .init([.durationMilliseconds: "\(spent)"])
                )
            }
            return ending ?? .finished
        }
    }
}

/// Performs what the state machine decides.
private struct SignalWatcher: Sendable {
    let group: ServiceGroup
    let notifier: SystemdNotifier
    let logger: Logger
    let reload: @Sendable () async -> Void
    private let machine = Locked(SignalStateMachine())
    /// When draining began, by the steady clock; nil before.
    let drainingSince = Locked<Microseconds?>(nil)

    init(
        group: ServiceGroup,
        notifier: SystemdNotifier,
        logger: Logger,
        reload: @escaping @Sendable () async -> Void
    ) {
        self.group = group
        self.notifier = notifier
        self.logger = logger
        self.reload = reload
    }

    /// Watches until the signals end, its task is cancelled, or a signal demands to stop at once.
    ///
    /// - Parameter signals: what arrives.
    /// - Returns: nil unless the daemon has to stop at once.
    func watch(_ signals: some AsyncSequence<UnixSignal, Never> & Sendable) async -> ServiceGroup.Ending? {
        await withTaskGroup(of: Void.self) { reloads in
            for await signal in signals {
                guard let action = machine.withLock({ $0.received(signal) }) else { continue }
                logger.notice("signal received", metadata: .init([.signal: "\(signal)"]))
                switch action {
                case .drain:
                    drainingSince.withLock { $0 = Clocks.steady }
                    notifier.stopping(status: "draining")
                    await group.triggerGracefulShutdown()
                case .reload:
                    reloads.addTask { await reloadUntilDone() }
                case .stopAtOnce:
                    reloads.cancelAll()
                    return .stoppedAtOnce
                }
            }
            return nil
        }
    }

    private func reloadUntilDone() async {
        repeat {
            notifier.reloading()
            await reload()
            notifier.ready()
        } while machine.withLock { $0.reloadFinished() } != nil
    }
}
