import Foundation
import Threading

/// A private PostgreSQL server, for `fanfare dev` and for tests.
///
/// It uses one directory, listens on a Unix socket that only its user can reach, trusts every client there, and ends
/// with the process that started it, even if that is killed. Its calls block; they may come from any thread.
public final class PrivateCluster: Sendable {
    /// The way in which a server stops; the words are pg_ctl's.
    public enum StopMode: String, Sendable {
        /// Waits until all clients have disconnected.
        case smart
        /// Ends all sessions, then shuts down cleanly.
        case fast
        /// Stops like a crash: the next start does recovery.
        case immediate
    }

    /// The TCP port on 127.0.0.1 if requested; always part of the socket's name.
    public let port: Int
    /// The directory of the server's files.
    public let directory: String
    /// The directories created in the temporary directory; empty if all are where they were requested.
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

    /// Starts a server; creates its data directory at the first start.
    ///
    /// Reuses a directory that a crash left behind. If this process runs as root, the server runs as `postgres` or
    /// `nobody`.
    ///
    /// - Parameters:
    ///   - directory: the directory, created if missing; nil for a new one in the temporary directory.
    ///   - options: the options.
    /// - Returns: the server, which accepts connections.
    /// - Throws: the reason why it does not run.
    public static func start(
        at directory: String? = nil,
        options: ClusterOptions = .development
    ) throws(ClusterError) -> PrivateCluster {
        try start(at: directory, options: options) { (_, _, _) throws(ClusterError) in }
    }

    /// Starts a server in directories that already contain a cluster.
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
            // A port cannot be reserved for another process, so a random one is tried.
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

    /// Stops the server for good; an ephemeral cluster is deleted.
    ///
    /// - Parameter mode: the shutdown mode; ``StopMode/smart`` may take for ever.
    public func stop(_ mode: StopMode = .fast) {
        end(mode, deleting: options.ephemeral)
        if options.ephemeral { directories.remove() }
    }

    /// Stops the server until ``resume()``, like an outage; no files are deleted.
    ///
    /// - Parameter mode: the shutdown mode; ``StopMode/immediate`` is a crash.
    public func suspend(_ mode: StopMode = .fast) {
        end(mode, deleting: false)
    }

    /// Starts the server again, on the same socket and port.
    ///
    /// - Throws: `cannotStart`; `directoryInUse` if it still runs.
    public func resume() throws(ClusterError) {
        try launch()
    }

    /// Stops the server and starts it again.
    ///
    /// - Parameter mode: the shutdown mode.
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
