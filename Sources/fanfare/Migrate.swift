import ArgumentParser
import FanfareService
import Foundation

/// `fanfare migrate`: loads the schema.
struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Load or upgrade the schema.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try DatabaseSetup(options.load(), environment: ProcessInfo.processInfo.environment).migrate()
        print("schema version \(Daemon.schemaVersions.upperBound) is in place")
    }
}

/// `fanfare adopt`: says whose database this is.
struct Adopt: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make this database the one that this installation sends from."
    )

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try DatabaseSetup(options.load(), environment: ProcessInfo.processInfo.environment).adopt()
        print("adopted")
    }
}
