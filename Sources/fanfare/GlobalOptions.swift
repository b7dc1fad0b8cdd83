import ArgumentParser
import FanfareConfiguration
import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
import FanfareService
import FanfareTools
import Foundation

/// The options of every command.
struct GlobalOptions: ParsableArguments {
    /// The title of their section in help and manual.
    static let title = "Global options"

    @Option(
        name: [.customShort("c"), .customLong("config")],
        help: """
            The configuration file (env \(ConfigurationFile.variable)); if nothing names it, the first of \
            \(ConfigurationFile.places.joined(separator: ", ")) that is there.
            """,
        completion: .file(extensions: ["yaml", "yml"])
    )
    var config: String?

    @Option(help: "How to connect to PostgreSQL, as libpq takes it (env DATABASE_URL).")
    var databaseUrl: String?

    @Option(
        help: "trace, debug, info, notice, warning, error or critical.",
        completion: .list(["trace", "debug", "info", "notice", "warning", "error", "critical"])
    )
    var logLevel: String?

    @Option(help: "json or text.", completion: .list(["json", "text"]))
    var logFormat: String?

    @Flag(help: "Print JSON.")
    var json = false

    /// The variables of the process.
    var environment: [String: String] { ProcessInfo.processInfo.environment }

    /// The style of standard output.
    var style: TerminalStyle {
        TerminalStyle(isTerminal: isatty(STDOUT_FILENO) == 1, environment: environment)
    }

    /// Whether a flag, a variable or a file sets the configuration.
    var namesDatabase: Bool {
        let names = ["DATABASE_URL", "FANFARE_DATABASE__URL"]
        return file != nil || databaseUrl != nil || names.contains { !(environment[$0] ?? "").isEmpty }
    }

    /// The configuration file to read, if any.
    var file: String? { ConfigurationFile.find(flag: config, environment: environment) }

    /// Reads the configuration: flags override the environment, which overrides the file.
    ///
    /// - Parameter forDatabase: whether only the database settings are needed; files of credentials are not opened
    ///   then.
    /// - Returns: the configuration.
    /// - Throws: `ConfigurationError`, exit code 78.
    func load(forDatabase: Bool = false) throws(ConfigurationError) -> Configuration {
        var flags: [String: String] = [:]
        flags["database.url"] = databaseUrl
        flags["log.level"] = logLevel
        flags["log.format"] = logFormat
        return try Configuration.load(file: file, environment: environment, flags: flags, readsFiles: !forDatabase)
    }

    /// The log settings for an unreadable configuration: those of flags and environment, else text on a terminal and
    /// JSON elsewhere.
    var logBeforeConfiguration: Configuration.Log {
        var log = Configuration.Log()
        let said = logFormat ?? environment["FANFARE_LOG__FORMAT"]
        let isTerminal = isatty(FileHandle.standardError.fileDescriptor) == 1
        log.format = said.flatMap(Configuration.Log.Format.init(rawValue:)) ?? (isTerminal ? .text : .json)
        return log
    }

    /// Makes the configured database; its notices go to standard error.
    func database() throws -> ToolDatabase {
        try ToolDatabase(load(forDatabase: true), environment: environment) { note in
            FileHandle.standardError.write(Data("fanfare: note: \(note)\n".utf8))
        }
    }

    /// Runs a closure with the configured database, and closes its session.
    ///
    /// - Throws: errors of `work` and of the configuration.
    func withDatabase<Value>(
        _ work: (ToolDatabase) async throws(ToolError) -> Value
    ) async throws -> Value {
        try await database().whileOpen(work)
    }

    /// Prints a result: as JSON if requested, else as text.
    ///
    /// - Throws: ``ToolError`` if it cannot be written; a script must not mistake missing output for success.
    func show(_ value: JSONValue, _ text: @autoclosure () -> String) throws(ToolError) {
        try write(json ? String(decoding: value.encoded, as: UTF8.self) : text())
    }

    /// Writes a text and a line end without buffering, also into a pipe.
    ///
    /// - Throws: ``ToolError`` if it cannot be written.
    func write(_ text: String, end: String = "\n") throws(ToolError) {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data((text + end).utf8))
        } catch {
            throw ToolError(
                .failed,
                "done, but the output could not be written: \(error.localizedDescription)",
                hint: "Is the disk full, or the pipe closed?"
            )
        }
    }
}
