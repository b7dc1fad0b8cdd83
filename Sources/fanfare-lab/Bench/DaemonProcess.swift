import Foundation
import PostgresClient

/// `fanfare serve` in a separate process, so that its CPU and memory are the daemon's alone.
struct DaemonProcess: Sendable {
    let process: BenchProcess

    /// Starts the daemon and waits until it has sent a push: its rules are checked, and its connections open.
    ///
    /// - Parameters:
    ///   - name: the name of its log.
    ///   - command: the program, after the words that run it.
    ///   - configuration: the path of its configuration.
    ///   - database: its database.
    ///   - place: the folder of its log; the daemon ends with the bench.
    /// - Returns: the daemon.
    /// - Throws: if it ends, or does not check its rules within two minutes.
    static func start(
        named name: String,
        command: [String] = [MainProgram.path],
        configuration: String,
        database: BenchDatabase,
        in place: BenchPlace
    ) throws -> DaemonProcess {
        let log = place.directory + "/\(name).log"
        let words = command + ["serve", "-c", configuration]
        let process = try BenchProcess(words[0], Array(words.dropFirst()), log: log)
        let daemon = DaemonProcess(process: process)
        place.atEnd { daemon.process.kill() }
        let connection = try database.connect()
        defer { connection.close() }
        try daemon.wait(on: connection, seconds: 120, for: "check the rules") {
            try connection.number("SELECT count(*) FROM fanfare.rule_versions WHERE state <> 'active'") == 0
        }
        _ = try connection.query("SELECT fanfare.emit('bench.one', '{\"user\": \"u1\", \"n\": 0}')")
        try daemon.waitUntilIdle(on: connection)
        return daemon
    }

    /// Waits until everything that was emitted is sent and recorded; polls 40 times a second and calls `step` each
    /// time.
    func waitUntilIdle(on connection: PostgresConnection, step: () -> Void = {}) throws {
        try wait(on: connection, seconds: 3600, for: "finish") {
            step()
            return try !connection.hasWork()
        }
    }

    private func wait(
        on connection: PostgresConnection,
        seconds: Double,
        for what: String,
        until isDone: () throws -> Bool
    ) throws {
        let end = Date().addingTimeInterval(seconds)
        while try !isDone() {
            guard !process.hasEnded else { throw BenchError("the daemon ended:\n" + process.lastWords) }
            guard Date() < end else { throw BenchError("the daemon did not \(what) in time:\n" + process.lastWords) }
            Thread.sleep(forTimeInterval: 0.025)
        }
    }
}

/// The stages whose CPU is reported separately, by the names of their threads.
enum BenchStage: String, CaseIterable {
    case plan, slice
    case claim = "claim, render"
    case send, record, other

    init(thread: String) {
        switch thread {
        case "planner": self = .plan
        case "slicer": self = .slice
        case "claimer": self = .claim
        case "recorder": self = .record
        case let name where name.hasPrefix("send-"): self = .send
        default: self = .other
        }
    }
}

/// The resources used up to a point in time.
struct Usage: Sendable {
    /// The CPU microseconds of the daemon by stage.
    var daemon: [BenchStage: Double] = [:]
    /// The CPU microseconds of all PostgreSQL processes.
    var postgres = 0.0
    /// Of these, the microseconds of the daemon's sessions, by name.
    var sessions: [String: Double] = [:]
    /// The bytes of write-ahead log.
    var wal = 0.0
    /// The bytes of all tables and indexes of Fanfare.
    var tables = 0.0

    /// Returns the resources used between two points in time.
    static func - (later: Usage, earlier: Usage) -> Usage {
        Usage(
            daemon: later.daemon.merging(earlier.daemon) { $0 - $1 },
            postgres: later.postgres - earlier.postgres,
            sessions: later.sessions.merging(earlier.sessions) { $0 - $1 },
            wal: later.wal - earlier.wal,
            tables: later.tables - earlier.tables
        )
    }

    /// The CPU microseconds of all stages of the daemon.
    var total: Double { daemon.values.reduce(0, +) }

    /// Reads all counters.
    static func read(
        _ daemon: DaemonProcess,
        _ database: BenchDatabase,
        _ connection: PostgresConnection
    ) throws -> Usage {
        var usage = Usage()
        for (name, nanoseconds) in ProcessFiles.threadCPU(of: daemon.process.processID) {
            usage.daemon[BenchStage(thread: name), default: 0] += Double(nanoseconds) / 1000
        }
        usage.postgres = ProcessFiles.familyCPU(of: database.server) * 1_000_000
        let backends = try connection.query(
            """
            SELECT pid, substr(application_name, 9) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name LIKE 'fanfare %' AND application_name <> 'fanfare bench'
            """
        )
        for row in backends.rows {
            guard let process = row[0].flatMap({ Int32($0) }), let name = row[1] else { continue }
            let nanoseconds = ProcessFiles.threadCPU(of: process).values.reduce(0, +)
            usage.sessions[name, default: 0] += Double(nanoseconds) / 1000
        }
        usage.wal = try connection.number("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')")
        usage.tables = try connection.number(
            """
            SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class AS c
            WHERE c.relnamespace = 'fanfare'::regnamespace AND c.relkind = 'r'
            """
        )
        return usage
    }
}
