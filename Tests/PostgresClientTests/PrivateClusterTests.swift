import Foundation
import PostgresClient
import PrivateCluster
import Programs
import TestKit
import Testing

/// A directory that is deleted after the test.
private final class Scratch {
    let path: String

    init(_ name: String = "") throws {
        path = NSTemporaryDirectory() + "fanfare-tests-" + UUID().uuidString.prefix(8) + name
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        // If the test runs as root, the server's user must be able to enter it.
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}

extension PrivateCluster {
    fileprivate func connect() throws(PostgresError) -> PostgresConnection {
        try .open(PostgresOptions(url: connectionURL()))
    }
}

@Suite(.serialized, .timeLimit(.minutes(3))) struct PrivateClusterTests {
    @Test func dataOutlivesRestartsAndCrashes() async throws {
        let scratch = try Scratch()
        let path = scratch.path
        try await onThread {
            let cluster = try PrivateCluster.start(at: path, options: ClusterOptions(durable: false))
            try cluster.connect().execute("CREATE TABLE public.kept (n integer); INSERT INTO public.kept VALUES (7)")
            let idle = try cluster.connect()
            try cluster.restart(.fast)
            #expect(throws: PostgresError.self) { try idle.execute("SELECT 1") }
            cluster.suspend(.immediate)
            let refused = #expect(throws: PostgresError.self) { try cluster.connect() }
            #expect(refused?.isTransient == true)
            try cluster.resume()
            #expect(try cluster.connect().text("SELECT n FROM public.kept") == "7")
            cluster.stop()
            #expect(FileManager.default.fileExists(atPath: cluster.directory + "/data/PG_VERSION"))
            #expect(!FileManager.default.fileExists(atPath: cluster.directory + "/data/postmaster.pid"))
            let again = try PrivateCluster.start(at: path, options: ClusterOptions(durable: false))
            #expect(try again.connect().text("SELECT n FROM public.kept") == "7")
            again.stop()
        }
        withExtendedLifetime(scratch) {}
    }

    @Test func oneProcessPerDirectory() async throws {
        let scratch = try Scratch()
        let path = scratch.path
        try await onThread {
            let cluster = try PrivateCluster.start(at: path, options: ClusterOptions(durable: false))
            let error = #expect(throws: ClusterError.self) { try PrivateCluster.start(at: path) }
            #expect(error?.code == .directoryInUse)
            #expect(try cluster.connect().text("SELECT 1") == "1")
            cluster.stop()
        }
        withExtendedLifetime(scratch) {}
    }

    @Test func itDiesWithItsProcess() async throws {
        let scratch = try Scratch()
        let path = scratch.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let cluster = try PrivateCluster.start(at: path, options: ClusterOptions(durable: false))
            try cluster.connect().execute("CREATE TABLE public.kept ()")
            kill(getpid(), SIGKILL)
        }
        // The guardian holds the lock for as long as the server runs.
        try await onThread { try lockIsFree(path + "/postgres/lock") }
        #expect(!FileManager.default.fileExists(atPath: path + "/postgres/data/postmaster.pid"))
        let directory = try await onThread {
            // This cluster is ephemeral: its stop deletes the files that the first one left.
            let cluster = try PrivateCluster.start(at: path, options: ClusterOptions(durable: false, ephemeral: true))
            #expect(try cluster.connect().text("SELECT count(*) FROM public.kept") == "0")
            cluster.stop(.immediate)
            return cluster.directory
        }
        #expect(!FileManager.default.fileExists(atPath: directory))
        withExtendedLifetime(scratch) {}
    }

    @Test func anOrphanedServerIsTakenOver() async throws {
        let scratch = try Scratch()
        let path = scratch.path
        try await onThread {
            let cluster = try PrivateCluster.start(at: path, options: ClusterOptions(durable: false))
            let orphan = try cluster.connect()
            let found = try guardian(of: cluster)
            kill(try #require(found), SIGKILL)
            try lockIsFree(path + "/postgres/lock")
            #expect(try orphan.text("SELECT 1") == "1")
            let successor = try PrivateCluster.start(at: path, options: ClusterOptions(durable: false))
            #expect(throws: PostgresError.self) { try orphan.execute("SELECT 1") }
            #expect(try successor.connect().text("SELECT 1") == "1")
            successor.stop()
            // No server is left to stop, and the write must not end the process by SIGPIPE.
            cluster.stop()
        }
        withExtendedLifetime(scratch) {}
    }

    @Test func withoutItsGuardianItStopsAllTheSame() async throws {
        let scratch = try Scratch()
        let path = scratch.path
        try await onThread {
            let cluster = try PrivateCluster.start(at: path, options: ClusterOptions(durable: false))
            let found = try guardian(of: cluster)
            kill(try #require(found), SIGKILL)
            try lockIsFree(path + "/postgres/lock")
            cluster.stop()
            #expect(!FileManager.default.fileExists(atPath: cluster.directory + "/data/postmaster.pid"))
        }
        withExtendedLifetime(scratch) {}
    }

    @Test func longPathsAndTCP() async throws {
        let scratch = try Scratch(String(repeating: "-o'long, \"path", count: 8))
        let path = scratch.path
        try await onThread {
            let cluster = try PrivateCluster.start(at: path, options: ClusterOptions(durable: false, loopback: true))
            #expect(cluster.directory.hasPrefix(path))
            #expect(cluster.temporaryDirectories.count == 1)
            #expect(try cluster.connect().text("SHOW port") == String(cluster.port))
            let options = PostgresOptions(url: "postgres://postgres@127.0.0.1:\(cluster.port)/postgres")
            #expect(try PostgresConnection.open(options).text("SELECT 1") == "1")
            cluster.stop()
            for directory in cluster.temporaryDirectories { try FileManager.default.removeItem(atPath: directory) }
        }
        withExtendedLifetime(scratch) {}
    }

    @Test(.enabled(if: geteuid() == 0, "only root has directories that the server's user cannot reach"))
    func unreachableDirectoriesMoveToTheTemporaryOne() async throws {
        let scratch = try Scratch()
        let path = scratch.path
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        try await onThread {
            let options = ClusterOptions(durable: false, ephemeral: true)
            let cluster = try PrivateCluster.start(at: path + "/.fanfare", options: options)
            #expect(!cluster.directory.hasPrefix(path))
            #expect(cluster.temporaryDirectories == [cluster.directory])
            #expect(try cluster.connect().text("SELECT 1") == "1")
            cluster.stop()
            #expect(!FileManager.default.fileExists(atPath: cluster.directory))
        }
        withExtendedLifetime(scratch) {}
    }
}

@Suite(.database) struct TestDatabaseTests {
    @Test(arguments: 0..<3) func eachTestHasItsOwn(_ number: Int) throws {
        let connection = try TestDatabase.current.connect()
        // Fails if another argument's table were in this database.
        try connection.execute("CREATE TABLE public.mine (n integer)")
        #expect(try connection.text("SELECT current_database()") == TestDatabase.current.name)
        #expect(
            try connection.text("SELECT count(*) > 0 FROM pg_catalog.pg_namespace WHERE nspname = 'fanfare'") == "t"
        )
    }

    @Test func itIsDroppedAfterwards() async throws {
        let inner = Locker<TestDatabase>()
        try await TestDatabase.with { inner.value = TestDatabase.current }
        let database = try #require(inner.value)
        #expect(database.name != TestDatabase.current.name)
        let error = #expect(throws: PostgresError.self) { try database.connect() }
        #expect(error?.sqlState == "3D000")
    }
}

/// Passes a value out of a closure of the same task.
private final class Locker<Value> {
    var value: Value?
}

/// Returns the process id of the shell that stops the server, found by its arguments.
private func guardian(of cluster: PrivateCluster) throws -> Int32? {
    try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { Int32($0) }.first { process in
        // Foundation's convenience for reading strings leaks on files that report a size of 0, as these do.
        let file = FileHandle(forReadingAtPath: "/proc/\(process)/cmdline")
        let arguments = String(decoding: (try? file?.readToEnd()) ?? Data(), as: UTF8.self)
        return arguments.contains("fanfare-postgres\0") && arguments.contains(cluster.directory + "\0")
    }
}

/// Blocks until the lock is free.
private func lockIsFree(_ path: String) throws {
    _ = try output(["flock", "--timeout", "60", path, "true"])
}

private func output(_ words: [String]) throws -> String {
    let command = try Command.wait(for: words)
    try #require(command.status == 0, "\(words)")
    return command.output
}
