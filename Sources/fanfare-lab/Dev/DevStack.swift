import FanfareService
import Foundation
import Logging
import PostgresClient
import PrivateCluster
import PushSandbox
import ServiceLifecycle
import Threading

/// The parts of `fanfare dev`: a PostgreSQL cluster, the simulated push services, and a daemon.
struct DevStack: Sendable {
    /// The URL of the demo's database; holds no secret.
    let databaseURL: String
    /// The simulated push services.
    let sandbox: PushSandbox

    private let cluster: PrivateCluster
    private let daemon: DevDaemon
    private let page: DevPage

    /// The ports to use; 0 for a free one.
    struct Ports: Sendable {
        /// The port of the simulated push services.
        var push = 0
        /// The port of their control interface.
        var control = 0
        /// The port of the daemon's HTTP API.
        var api = 0
        /// The port of the demo's page.
        var page = 0
    }

    /// The address of the demo's page.
    var pageAddress: String { page.address }

    /// The address of the daemon's console, which begins a session with all scopes.
    var consoleAddress: String { daemon.api.consoleAddress }

    /// Whether the next start finds the same database.
    ///
    /// It does not if the server cannot access the folder, such as root's below /root, so that the database had to be
    /// in a temporary folder.
    var keepsDatabase: Bool { !cluster.temporaryDirectories.contains(cluster.directory) }

    /// The name of the demo's database.
    static let database = "demo"

    /// Starts everything, and uses the files of an earlier run in the folder.
    ///
    /// - Parameters:
    ///   - directory: the folder for all files.
    ///   - ports: the ports of the listeners.
    ///   - console: shows each step.
    /// - Returns: the running parts; `stop()` must be called on it.
    /// - Throws: the error of a part that does not start; the others are then stopped.
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

    /// Drains the daemon and stops everything.
    func stop() async {
        await page.stop()
        await daemon.stop()
        await sandbox.stop()
        await Self.stop(cluster)
    }

    /// Throws if the daemon has ended.
    func checkDaemon() throws {
        try daemon.check()
    }

    private static func createDatabase(on cluster: PrivateCluster) throws {
        do throws(PostgresError) {
            try cluster.createDatabase(database)
        } catch {
            // An earlier run created it.
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

    /// Decodes characters that need no escape in a URL's query, because people read and copy the URL.
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

/// Runs blocking code on a thread of its own, because Swift's small thread pool must not wait for a database.
///
/// - Parameter body: the code, which may block.
/// - Returns: the result of `body`.
/// - Throws: the error of `body`.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        // Ends by itself; the caller waits for the continuation.
        _ = WorkerThread.start(name: "dev") {
            continuation.resume(with: Result(catching: body))
        }
    }
}
