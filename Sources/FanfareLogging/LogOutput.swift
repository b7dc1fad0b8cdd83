public import FanfareConfiguration
internal import Foundation
public import Logging
internal import Threading

/// The destination of a process's log lines, shared by all its loggers.
///
/// Loggers never wait for the reader of the log: lines go to a bounded queue, and a thread writes them.
public final class LogOutput: Sendable {
    /// The stream that lines are written to.
    public enum Destination: Sendable {
        /// Standard error, so that standard output holds only a command's result.
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
    ///   - settings: level and format; ``apply(_:)`` changes them later.
    ///   - destination: the stream. The text format is coloured according to ``TerminalStyle``. If the stream is
    ///     systemd's journal, each line begins with its priority.
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

    /// Applies changed settings, also to existing loggers.
    ///
    /// - Parameter settings: the new settings.
    public func apply(_ settings: Configuration.Log) {
        self.settings.withLock { $0 = settings }
    }

    /// Makes the back end of a logger, for `LoggingSystem.bootstrap` or `Logger(label:factory:)`.
    public func handler() -> FanfareLogHandler { FanfareLogHandler(output: self) }

    /// Makes a logger that writes here.
    ///
    /// - Parameter label: the logger's label; not written.
    /// - Returns: the logger.
    public func logger(label: String = "fanfare") -> Logger {
        Logger(label: label) { _ in self.handler() }
    }

    /// Writes the queued lines and stops; later lines are lost.
    ///
    /// - Parameter timeout: the maximum wait.
    /// - Returns: true if every line was written.
    @discardableResult
    public func close(timeout: Duration = .seconds(2)) -> Bool {
        writer.close(timeout: timeout)
    }

    /// Whether programs read the log, which treat each line as one record; people get several lines per error.
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
