import ArgumentParser
import FanfareService
import Foundation

/// What every command takes.
struct GlobalOptions: ParsableArguments {
    @Option(name: [.customShort("c"), .customLong("config")], help: "The configuration file.")
    var config: String?

    @Option(help: "How to connect to PostgreSQL, as libpq takes it (env DATABASE_URL).")
    var databaseUrl: String?

    @Option(help: "trace, debug, info, notice, warning, error or critical.")
    var logLevel: String?

    @Option(help: "json or text.")
    var logFormat: String?

    /// Reads the configuration: flags over environment over file.
    func load() throws -> Configuration {
        var flags: [String: String] = [:]
        flags["database.url"] = databaseUrl
        flags["log.level"] = logLevel
        flags["log.format"] = logFormat
        return try Configuration.load(file: config, environment: ProcessInfo.processInfo.environment, flags: flags)
    }
}
