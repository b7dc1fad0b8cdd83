internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
public import Logging
public import ServiceLifecycle
internal import Threading
public import UnixSignals

extension ServiceGroup {
    /// How a run ended.
    public enum Ending: Sendable {
        /// The services ended by themselves, or drained on request.
        case finished
        /// A signal demanded an immediate stop; in-flight deliveries are unrecorded.
        case stoppedAtOnce
    }

    /// The signals to trap for ``run(signals:notifier:logger:reload:)``.
    public static let daemonSignals: [UnixSignal] = [.sigterm, .sigint, .sighup]

    /// Runs the services until they end, and acts on a daemon's signals.
    ///
    /// SIGTERM drains the services, a second SIGTERM or a SIGINT cancels them at once, and SIGHUP calls `reload`. The
    /// group's own configuration must name no signals, because the group ignores a second SIGTERM and does not know
    /// SIGHUP. An immediate stop takes as long as the services and the reload need to react to cancellation.
    ///
    /// - Parameters:
    ///   - signals: the incoming signals; a `UnixSignalsSequence(trapping: ServiceGroup.daemonSignals)`.
    ///   - notifier: notifies systemd of draining and reloading.
    ///   - logger: logs each signal that is acted on.
    ///   - reload: reads the configuration again; never called concurrently, and handles its own errors.
    /// - Returns: how the run ended.
    /// - Throws: the error of a service that fails.
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
                // Errors of cancelled services are ignored after an immediate stop.
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

/// Performs the actions of the state machine.
private struct SignalWatcher: Sendable {
    let group: ServiceGroup
    let notifier: SystemdNotifier
    let logger: Logger
    let reload: @Sendable () async -> Void
    private let machine = Locked(SignalStateMachine())
    /// When draining began, by the monotonic clock; nil before.
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

    /// Handles signals until they end, the task is cancelled, or a signal demands an immediate stop.
    ///
    /// - Parameter signals: the incoming signals.
    /// - Returns: nil unless the daemon must stop at once.
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
