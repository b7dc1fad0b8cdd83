import FanfareService
import Foundation
import Logging
import PostgresClient
import PrivateCluster
import PushSandbox
import ServiceLifecycle
import Threading

/// What `fanfare dev` runs: a PostgreSQL of its own, the simulated push services, a daemon.
struct DevStack: Sendable {
    /// How to connect to the demo's database; holds no secret.
    let databaseURL: String
    /// The simulated push services.
    let sandbox: PushSandbox

    private let cluster: PrivateCluster
    private let daemon: DevDaemon
    private let page: DevPage

    /// The ports to take; 0 for a free one.
    struct Ports: Sendable {
        /// Of the simulated push services.
        var push = 0
        /// Of their control interface.
        var control = 0
        /// Of the daemon's HTTP API.
        var api = 0
        /// Of the demo's page.
        var page = 0
    }

    /// Where the demo's page is.
    var pageAddress: String { page.address }

    /// Where the daemon's console is; begins a session that may do everything.
    var consoleAddress: String { daemon.api.consoleAddress }

    /// Whether the database is still there at the next start.
    ///
    /// It is not where its server cannot reach the folder, as root's below /root, and it had to be elsewhere.
    var keepsDatabase: Bool { !cluster.temporaryDirectories.contains(cluster.directory) }

    /// Name of the demo's database.
    static let database = "demo"

    /// Starts everything; what an earlier run left in the folder is used again.
    ///
    /// - Parameters:
    ///   - directory: for all files.
    ///   - ports: of what listens.
    ///   - console: told about each step.
    /// - Returns: the running parts; `stop()` must be called on it.
    /// - Throws: why one of them does not run; the others are stopped then.
    static func start(
        in directory: String,
        ports: Ports,
        console: DevConsole
    ) async throws -> DevStack {
        var began = ContinuousClock.now
        let cluster = try await onThread { try PrivateCluster.start(at: directory, options: .development) }
        console.step("PostgreSQL", cluster.directory, since: began)
        do {
            try Task.checkCancellation()
            began = .now
            let url = readable(cluster.connectionURL(database: database))
            try await onThread { try createDatabase(on: cluster) }
            let sandbox = try await startSandbox(in: directory, ports: ports, databaseURL: url)
            do {
                let control = "control at http://127.0.0.1:\(sandbox.controlPort)"
                console.step("push services", "https://localhost:\(sandbox.tlsPort), \(control)", since: began)
                let daemon = try await DevDaemon.start(
                    sandbox.ready.configFile,
                    apiPort: ports.api,
                    in: directory,
                    console: console
                )
                do {
                    let page = try await startPage(beside: daemon, port: ports.page, console: console)
                    return DevStack(databaseURL: url, sandbox: sandbox, cluster: cluster, daemon: daemon, page: page)
                } catch {
                    await daemon.stop()
                    throw error
                }
            } catch {
                await sandbox.stop()
                throw error
            }
        } catch {
            await stop(cluster)
            throw error
        }
    }

    /// Drains the daemon and ends everything.
    func stop() async {
        await page.stop()
        await daemon.stop()
        await sandbox.stop()
        await Self.stop(cluster)
    }

    /// Throws once the daemon is no longer there.
    func checkDaemon() throws {
        try daemon.check()
    }

    private static func createDatabase(on cluster: PrivateCluster) throws {
        do throws(PostgresError) {
            try cluster.createDatabase(database)
        } catch {
            // An earlier run made it.
            guard error.sqlState == "42P04" else { throw error }
        }
    }

    private static func startPage(
        beside daemon: DevDaemon,
        port: Int,
        console: DevConsole
    ) async throws -> DevPage {
        let began = ContinuousClock.now
        let page = try await DevPage.start(DevBackend(api: daemon.api, key: daemon.webPushKey), port: port)
        console.step("page", "\(page.address), for \(DevBackend.user)'s browser", since: began)
        return page
    }

    private static func startSandbox(
        in directory: String,
        ports: Ports,
        databaseURL: String
    ) async throws -> PushSandbox {
        var options = SandboxOptions(directory: directory + "/sandbox")
        options.tlsPort = ports.push
        options.controlPort = ports.control
        options.appName = DevDemo.app
        options.databaseURL = databaseURL
        return try await PushSandbox.start(options)
    }

    /// These need no escape in a URL's query, and people read and copy this one.
    private static func readable(_ url: String) -> String {
        [("%2F", "/"), ("%2E", "."), ("%2D", "-"), ("%5F", "_")].reduce(url) { $0.replacing($1.0, with: $1.1) }
    }

    private static func stop(_ cluster: PrivateCluster) async {
        try? await onThread {
            cluster.stop()
            for path in cluster.temporaryDirectories {
                try? FileManager.default.removeItem(atPath: path)
            }
        }
    }
}

/// Runs blocking code on a thread of its own: Swift's few pool threads must not wait for a database.
///
/// - Parameter body: may block.
/// - Returns: what `body` returns.
/// - Throws: what `body` throws.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        // Ends by itself; the continuation is what the caller waits for.
        _ = WorkerThread.start(name: "dev") {
            continuation.resume(with: Result(catching: body))
        }
    }
}
