import Foundation
import Programs
import TestKit
import Threading

/// A daemon of the rig: the built program in a separate process, behind a proxy to the database and one to the
/// provider.
final class RigDaemon: Sendable {
    /// Its position in the rig.
    let index: Int
    /// Its number, from 1, which no other daemon of the rig has or had.
    let number: UInt16
    let process: ProgramProcess
    let database: FaultProxy
    let provider: FaultProxy
    /// Its log.
    let log = DaemonLines()
    private let reading: Task<Void, Never>

    /// The options of its start.
    struct Options: Sendable {
        var environment: [String: String] = [:]
        /// The hard limit of file descriptors; nil for the default.
        var descriptors: Int?
        /// The soft limit, which the daemon may raise to the hard one.
        var softDescriptors: Int?
        /// Changes its configuration file.
        var configuration: @Sendable (String) -> String = { $0 }
    }

    init(
        index: Int,
        number: UInt16,
        configuration: String,
        databaseURL: String,
        proxies: (database: FaultProxy, provider: FaultProxy),
        options: Options,
        allLines: Locked<[String]>
    ) async throws {
        self.index = index
        self.number = number
        database = proxies.database
        provider = proxies.provider
        let hard = options.descriptors.map { "ulimit -n \($0); " } ?? ""
        let limit = hard + (options.softDescriptors.map { "ulimit -S -n \($0); " } ?? "")
        // The shell replaces itself with the program, so that the process id is known.
        process = try await ProgramProcess(
            "/bin/sh",
            ["-c", limit + #"exec "$@""#, "sh", FanfareBinary.path(), "serve", "--config", configuration]
                + ["--database-url", databaseURL],
            environment: options.environment
        )
        let lines = log
        let streams = [process.errors, process.output]
        // Ends with the process's two streams; `ended()` awaits it.
        reading = Task {
            await withTaskGroup { group in
                for stream in streams {
                    group.addTask {
                        for await line in stream {
                            lines.append(line)
                            allLines.withLock { $0.append(line) }
                        }
                    }
                }
            }
        }
    }

    /// Waits for its end, and until all its output is read.
    @discardableResult
    func ended() async -> Int32 {
        let status = await process.exitStatus()
        await reading.value
        return status
    }
}
