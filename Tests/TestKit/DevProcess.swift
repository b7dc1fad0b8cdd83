import Foundation

/// A running `fanfare dev`: PostgreSQL, simulated push services, a daemon with its API, and the demo with its page.
public final class DevProcess: Sendable {
    /// Where the HTTP API is, without a slash at its end.
    public let api: String
    /// A token that allows everything there.
    public let token: String
    /// Where the console is, for who has the token.
    public let console: String
    /// Where the control interface of the simulated push services is.
    public let control: String
    /// Where the demo's page is: its origin.
    public let page: String
    /// A libpq URL of its database, for the superuser.
    public let database: String
    private let process: ProgramProcess
    private let directory: String

    /// Starts one in a temporary folder, and waits until its demo has been shown.
    ///
    /// - Returns: the process; ``stop()`` must be called on it.
    /// - Throws: if there is no such program, or it ends early.
    public static func start() async throws -> DevProcess {
        let directory = NSTemporaryDirectory() + "fanfare-dev-" + UUID().uuidString.prefix(13).lowercased()
        let program = try FanfareBinary.path()
        let process = try await onThread("dev") { try ProgramProcess(program, ["dev", "--dir", directory]) }
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

    /// Runs a body with one, and ends that.
    ///
    /// - Parameter body: the test.
    /// - Throws: what `body` throws, or why there is none.
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

    /// Ends all of it, and deletes its files.
    public func stop() async {
        await process.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }
}
