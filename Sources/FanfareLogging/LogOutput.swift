public import FanfareConfiguration
internal import Foundation
public import Logging
internal import Threading

/// Where the log lines of a process go; all its loggers share one.
///
/// Loggers never wait for whoever reads the log: lines are queued (bounded) and written by a thread.
public final class LogOutput: Sendable {
    /// Where lines are written to.
    public enum Destination: Sendable {
        /// Standard error, so that standard output stays the command's own.
        case standardError
        /// Standard output.
        case standardOutput
    }

    private let settings: Locked<Configuration.Log>
    private let writer: LogWriter
    private let isColoured: Bool
    private let hasPriorities: Bool
    private let now: @Sendable () -> LogTimestamp

    /// Opens an output.
    ///
    /// - Parameters:
    ///   - settings: level and form; ``apply(_:)`` changes them later.
    ///   - destination: where lines go. The text form is coloured as ``TerminalStyle`` says. Where it is systemd's journal,
    ///     each line begins with its priority.
    public convenience init(_ settings: Configuration.Log, to destination: Destination = .standardError) {
        let handle = destination == .standardError ? FileHandle.standardError : .standardOutput
        let environment = ProcessInfo.processInfo.environment
        let style = TerminalStyle(isTerminal: isatty(handle.fileDescriptor) == 1, environment: environment)
        self.init(
            settings,
            colour: style.isColoured,
            priorities: JournalStream.isConnected(handle.fileDescriptor, environment: environment),
            now: { LogTimestamp(microsecondsSince1970: Int64((Date().timeIntervalSince1970 * 1e6).rounded())) },
            writer: LogWriter { try handle.write(contentsOf: Data($0)) }
        )
    }

    init(
        _ settings: Configuration.Log,
        colour: Bool,
        priorities: Bool = false,
        now: @escaping @Sendable () -> LogTimestamp,
        writer: LogWriter
    ) {
        self.settings = Locked(settings)
        self.writer = writer
        self.isColoured = colour
        hasPriorities = priorities
        self.now = now
    }

    /// Takes over changed settings, also for all loggers that exist.
    ///
    /// - Parameter settings: the new ones.
    public func apply(_ settings: Configuration.Log) {
        self.settings.withLock { $0 = settings }
    }

    /// The back end for a logger; pass it to `LoggingSystem.bootstrap` or to `Logger(label:factory:)`.
    public func handler() -> FanfareLogHandler { FanfareLogHandler(output: self) }

    /// A logger that writes here.
    ///
    /// - Parameter label: names the logger; not written.
    /// - Returns: the logger.
    public func logger(label: String = "fanfare") -> Logger {
        Logger(label: label) { _ in self.handler() }
    }

    /// Writes what is queued and stops; lines that come later are lost.
    ///
    /// - Parameter timeout: how long to wait at most.
    /// - Returns: true if every line was handed to the system.
    @discardableResult
    public func close(timeout: Duration = .seconds(2)) -> Bool {
        writer.close(timeout: timeout)
    }

    /// Whether programs read the log, which take a line for a thing; a person is told by several.
    package var isForPrograms: Bool { hasPriorities || settings.withLock { $0.format } == .json }

    var level: Logger.Level { settings.withLock { $0.level } }

    func write(level: Logger.Level, message: String, metadata: Logger.Metadata) {
        let line = LogLine(time: now(), level: level, message: message, metadata: metadata)
        let format = settings.withLock { $0.format }
        writer.put(render(line, format)) { dropped in
            render(
                LogLine(
                    time: line.time,
                    level: .warning,
                    message: "log lines dropped",
                    metadata: [LogKey.linesDropped.rawValue: .stringConvertible(dropped)]
                ),
                format
            )
        }
    }

    private func render(_ line: LogLine, _ format: Configuration.Log.Format) -> String {
        let text =
            switch format {
            case .json: line.json
            case .text: line.text(colour: isColoured)
            }
        return hasPriorities ? "<\(line.level.priority)>\(text)" : text
    }
}
