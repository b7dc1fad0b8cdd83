import Foundation
import Programs

/// A running `fanfare dev`: PostgreSQL, simulated push services, a daemon with its API, and the demo with its page.
public final class DevProcess: Sendable {
    /// The address of the HTTP API, without a final slash.
    public let api: String
    /// A token with all scopes.
    public let token: String
    /// The address of the console, to be used with the token.
    public let console: String
    /// The address of the simulated push services' control interface.
    public let control: String
    /// The origin of the demo's page.
    public let page: String
    /// A libpq URL of its database, for the superuser.
    public let database: String
    private let process: ProgramProcess
    private let directory: String

    /// Starts it in a temporary folder, and waits until the demo has been shown.
    ///
    /// - Returns: the process; ``stop()`` must be called on it.
    /// - Throws: an error if the program does not exist or exits early.
    public static func start() async throws -> DevProcess {
        let directory = NSTemporaryDirectory() + "fanfare-dev-" + UUID().uuidString.prefix(13).lowercased()
        let program = try FanfareBinary.path()
        let process = try await ProgramProcess(program, ["dev", "--dir", directory])
        var shown: [String] = []
        for await line in process.output {
            shown.append(line)
            guard line.hasPrefix("Further pushes appear here.") else { continue }
            let text = shown.joined(separator: "\n")
            guard let api = text.firstMatch(of: /api +(http:[^ ,]+), token in ([^ ]+)/),
                let control = text.firstMatch(of: /control at (http:[^ ]+)/),
                let console = text.firstMatch(of: /http:[^ ]+\/login\?token=[^\s]+/),
                let page = text.firstMatch(of: /page +(http:[^ ,]+)/),
                let database = text.firstMatch(of: /psql '(postgres:[^']+)'/),
                let token = try? String(contentsOfFile: String(api.2), encoding: .utf8)
            else { break }
            return DevProcess(
                api: String(api.1),
                token: token.trimmingCharacters(in: .newlines),
                console: String(console.0),
                control: String(control.1),
                page: String(page.1),
                database: String(database.1),
                process,
                directory
            )
        }
        process.signal(SIGTERM)
        for await line in process.errors { shown.append(line) }
        await process.stop()
        try? FileManager.default.removeItem(atPath: directory)
        throw ProgramError(message: "fanfare dev is of no use: " + shown.suffix(8).joined(separator: "\n"))
    }

    private init(
        api: String,
        token: String,
        console: String,
        control: String,
        page: String,
        database: String,
        _ process: ProgramProcess,
        _ directory: String
    ) {
        (self.api, self.token, self.console) = (api, token, console)
        (self.control, self.page, self.database) = (control, page, database)
        (self.process, self.directory) = (process, directory)
    }

    /// Runs a body with a process, and stops it.
    ///
    /// - Parameter body: the test.
    /// - Throws: the error of `body`, or the reason why the process did not start.
    public static func with(_ body: (DevProcess) async throws -> Void) async throws {
        let dev = try await start()
        do {
            try await body(dev)
        } catch {
            await dev.stop()
            throw error
        }
        await dev.stop()
    }

    /// Stops the process and deletes its files.
    public func stop() async {
        await process.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }
}
