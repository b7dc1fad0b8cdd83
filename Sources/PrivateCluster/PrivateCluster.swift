import Foundation
import Threading

/// A PostgreSQL server of our own, for `fanfare dev` and for tests.
///
/// It lives in one directory, listens on a Unix socket that only its user can reach, trusts whoever does, and ends
/// with the process that started it, however that ends. Its calls block; they may come from any thread.
public final class PrivateCluster: Sendable {
    /// How a server ends; the words are pg_ctl's.
    public enum StopMode: String, Sendable {
        /// Waits until all clients have left by themselves.
        case smart
        /// Ends all sessions, then shuts down cleanly.
        case fast
        /// Like a crash: the next start recovers.
        case immediate
    }

    /// TCP port on 127.0.0.1 if asked for; part of the socket's name in any case.
    public let port: Int
    /// Where the server's files are.
    public let directory: String
    /// Directories that had to be made in the temporary directory; empty if all is where it was asked for.
    public let temporaryDirectories: [String]
    /// The server's log file.
    public let logFile: String

    private let directories: ClusterDirectories
    private let binaries: ServerBinaries
    private let user: ServerUser
    let options: ClusterOptions
    private let guardian: Locked<Guardian?>

    private init(
        _ directories: ClusterDirectories,
        _ binaries: ServerBinaries,
        _ user: ServerUser,
        _ options: ClusterOptions,
        port: Int
    ) {
        self.directories = directories
        self.binaries = binaries
        self.user = user
        self.options = options
        self.port = port
        directory = directories.home
        temporaryDirectories = directories.temporary
        logFile = directories.log
        guardian = Locked(nil)
    }

    /// Starts a server, creating its data at the first time.
    ///
    /// Takes a directory over that a crash left behind. As root the server runs as `postgres` or `nobody`.
    ///
    /// - Parameters:
    ///   - directory: where; made if missing. Nil for a new one in the temporary directory.
    ///   - options: how.
    /// - Returns: the server, taking connections.
    /// - Throws: why it does not run.
    public static func start(
        at directory: String? = nil,
        options: ClusterOptions = .development
    ) throws(ClusterError) -> PrivateCluster {
        try start(at: directory, options: options) { (_, _, _) throws(ClusterError) in }
    }

    /// Starts a server in directories that were filled before.
    static func start(
        at directory: String? = nil,
        options: ClusterOptions,
        filling fill: (ServerBinaries, ServerUser, ClusterDirectories) throws(ClusterError) -> Void
    ) throws(ClusterError) -> PrivateCluster {
        let user = try ServerUser.choose()
        let directories = try ClusterDirectories.prepare(at: directory, for: user)
        let version = (try? String(contentsOfFile: directories.data + "/PG_VERSION", encoding: .utf8))
            .flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
        let binaries = try ServerBinaries.find(version: version)
        try fill(binaries, user, directories)
        var attempts = options.loopback ? 8 : 1
        while true {
            // Nothing reserves a port for another process: pick one and see.
            let port = options.loopback ? Int.random(in: 20_000..<60_000) : 5432
            let cluster = PrivateCluster(directories, binaries, user, options, port: port)
            do {
                try cluster.launch()
                return cluster
            } catch {
                attempts -= 1
                let portTaken = error.message.contains("could not bind")
                guard portTaken && attempts > 0 else {
                    if options.ephemeral && error.code != .directoryInUse { directories.remove() }
                    throw error
                }
            }
        }
    }

    /// Ends the server for good; an ephemeral cluster is deleted.
    ///
    /// - Parameter mode: how; ``StopMode/smart`` may take for ever.
    public func stop(_ mode: StopMode = .fast) {
        end(mode, deleting: options.ephemeral)
        if options.ephemeral { directories.remove() }
    }

    /// Ends the server until ``resume()``, as an outage would; nothing is deleted.
    ///
    /// - Parameter mode: how; ``StopMode/immediate`` is a crash.
    public func suspend(_ mode: StopMode = .fast) {
        end(mode, deleting: false)
    }

    /// Starts the server again, on the same socket and port.
    ///
    /// - Throws: `cannotStart`; `directoryInUse` if it still runs.
    public func resume() throws(ClusterError) {
        try launch()
    }

    /// Ends the server and starts it again.
    ///
    /// - Parameter mode: how it ends.
    /// - Throws: `cannotStart`.
    public func restart(_ mode: StopMode = .fast) throws(ClusterError) {
        suspend(mode)
        try resume()
    }

    var socketDirectory: String { directories.socket }

    private func end(_ mode: StopMode, deleting: Bool) {
        let running = guardian.withLock { guardian in
            defer { guardian = nil }
            return guardian
        }
        running?.stop(mode, deleting: deleting)
    }

    private func launch() throws(ClusterError) {
        let configuration = options.configuration(socketDirectory: directories.socket, port: port)
        let started = try Guardian(
            binaries,
            directories,
            user: user,
            configuration: configuration,
            ephemeral: options.ephemeral
        )
        guardian.withLock { $0 = started }
    }
}
