internal import FanfareConfiguration
internal import FanfareLogging
public import Logging
internal import Threading

/// Reports the process's state to systemd or another supervisor (sd_notify(3)), without libsystemd.
///
/// Does nothing if `NOTIFY_SOCKET` is not set. A message that cannot be sent is logged and never stops the daemon.
public struct SystemdNotifier: Sendable {
    /// The longest interval allowed between calls of ``watchdog()``; nil if there is no watchdog.
    ///
    /// Call it twice as often: after this time the process counts as hung.
    public let watchdogInterval: Duration?

    private let send: (@Sendable (String) throws -> Void)?
    private let logger: Logger
    private let monotonicMicroseconds: @Sendable () -> Int64

    /// Reads the addresses from the environment.
    ///
    /// - Parameters:
    ///   - environment: variables of the process: `NOTIFY_SOCKET`, `WATCHDOG_USEC`, `WATCHDOG_PID`.
    ///   - processID: the process's own id.
    ///   - logger: logs messages that cannot be sent.
    public init(environment: [String: String], processID: Int32, logger: Logger) {
        var send: (@Sendable (String) throws -> Void)?
        if let address = environment["NOTIFY_SOCKET"], !address.isEmpty {
            send = { try UnixDatagram.send($0, to: address) }
        }
        self.init(
            send: send,
            watchdogInterval: Self.watchdogInterval(environment, processID: processID),
            logger: logger,
            monotonicMicroseconds: { KernelClock.monotonic.microseconds }
        )
    }

    init(
        send: (@Sendable (String) throws -> Void)?,
        watchdogInterval: Duration?,
        logger: Logger,
        monotonicMicroseconds: @escaping @Sendable () -> Int64
    ) {
        self.send = send
        self.watchdogInterval = watchdogInterval
        self.logger = logger
        self.monotonicMicroseconds = monotonicMicroseconds
    }

    /// Reports that the daemon works, at the start and after a reload.
    ///
    /// - Parameter status: what `systemctl status` shows; nil to leave that as it is.
    public func ready(status: String? = nil) {
        notify(["READY=1"] + line(status))
    }

    /// Reports that the daemon drains.
    ///
    /// - Parameter status: what `systemctl status` shows; nil to leave that as it is.
    public func stopping(status: String? = nil) {
        notify(["STOPPING=1"] + line(status))
    }

    /// Reports that a reload begins; ``ready(status:)`` reports its end.
    public func reloading() {
        notify(["RELOADING=1", "MONOTONIC_USEC=\(monotonicMicroseconds())"])
    }

    /// Reports that the daemon is not hung.
    public func watchdog() {
        notify(["WATCHDOG=1"])
    }

    private func line(_ status: String?) -> [String] {
        // A line feed would start another assignment.
        status.map { ["STATUS=" + String($0.map { $0.isNewline ? " " : $0 })] } ?? []
    }

    private func notify(_ lines: [String]) {
        guard let send else { return }
        do {
            try send(lines.joined(separator: "\n"))
        } catch {
            logger.warning("systemd not notified", metadata: .init([.error: "\(error)"]))
        }
    }

    static func watchdogInterval(_ environment: [String: String], processID: Int32) -> Duration? {
        guard let text = environment["WATCHDOG_USEC"], let microseconds = Int64(text), microseconds > 0,
            environment["WATCHDOG_PID"].map({ $0 == String(processID) }) ?? true
        else { return nil }
        return .microseconds(microseconds)
    }
}
