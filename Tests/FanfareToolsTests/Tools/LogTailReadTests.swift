import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareRecords
@testable import FanfareTools

/// The rows that `fanfare tail` reads, with various physical orders of the logs.
@Suite(.database) struct LogTailReadTests {
    private let connection: PostgresConnection

    init() throws {
        connection = try TestDatabase.current.connect()
        _ = try connection.query(
            """
            SELECT fanfare.register_device('shop', 'apns', 'aa01', 'ann'),
                fanfare.put_rule('{"app": "shop", "name": "r", "event": "t", "to": {"everyone": true}, "message": {}}')
            """
        )
    }

    /// Writes fates as a planner does.
    private func plan(_ count: Int, bytes: ClosedRange<Int>, on connection: PostgresConnection? = nil) throws {
        _ = try (connection ?? self.connection).query(
            """
            INSERT INTO fanfare.event_log (day, fate, id, created_at, type, payload)
            SELECT fanfare.ring_day(e.id), 3, e.id, now(), 't', jsonb_build_object('x', repeat('x', $2::int + e.n * 37 % $3::int))
            FROM (SELECT fanfare.new_event_id() AS id, n FROM generate_series(1, $1::int) AS n) AS e
            """,
            String(count),
            String(bytes.lowerBound),
            String(bytes.count)
        )
    }

    /// Closes batches of one delivery each, one microsecond apart, from a given time on.
    private func close(_ count: Int) throws {
        _ = try connection.query(
            """
            INSERT INTO fanfare.batch_log (day, lane, target_id, attempt, id, event_id, created_at, closed_at, first_device,
                last_device, rule_version, device_ids, outcomes)
            SELECT fanfare.ring_day(b.id), 1, (SELECT min(id) FROM fanfare.targets), 1, b.id, b.n, now(),
                now() + b.n * interval '1 microsecond', 1, 1, (SELECT min(id) FROM fanfare.rule_versions), '{1}', '\\x01'
            FROM (SELECT fanfare.new_batch_id() AS id, n FROM generate_series(1, $1::int) AS n) AS b
            """,
            String(count)
        )
    }

    /// PostgreSQL stores a row in any page that has room.
    @Test func rowsInPagesFarBehindAreRead() throws {
        let tail = try toolDatabase().tail(LogTail.Filter())
        var read: [Int64] = []
        for _ in 0..<20 {
            try plan(100, bytes: 1400...1850)
            read += try tail.next().compactMap(\.eventID)
        }
        for _ in 0..<6 {
            try plan(100, bytes: 1...20)
            read += try tail.next().compactMap(\.eventID)
        }
        #expect(read.count == 2600 && Set(read).count == 2600)
        #expect(try tail.next().isEmpty)
    }

    @Test func whatCommitsLateIsRead() throws {
        let tail = try toolDatabase().tail(LogTail.Filter())
        let slow = try TestDatabase.current.connect()
        try slow.execute("BEGIN")
        try plan(3, bytes: 1...1, on: slow)
        try plan(2, bytes: 1...1)
        #expect(try tail.next().count == 2)
        try slow.execute("COMMIT")
        #expect(try tail.next().count == 3)
        #expect(try tail.next().isEmpty)
    }

    /// An event that waited for days is in the partition of its own day, before all others.
    @Test func oldIDsAreRead() throws {
        let tail = try toolDatabase().tail(LogTail.Filter())
        try plan(1, bytes: 1...1)
        _ = try connection.query(
            """
            INSERT INTO fanfare.event_log (day, fate, id, created_at, type)
            SELECT fanfare.ring_day(o.id), 3, o.id, now() - interval '3 days', 'old'
            FROM (SELECT fanfare.new_event_id() - (3::bigint << 32) AS id) AS o
            """
        )
        #expect(try tail.next().map(\.eventType).sorted() == ["old", "t"])
    }

    /// A client that continues after a fate by its time has received all earlier outcomes.
    @Test func fatesWaitForTheOutcomesBeforeThem() throws {
        var filter = LogTail.Filter()
        filter.since = Since("1h")
        let tail = try toolDatabase().tail(filter)
        try close(TailPush.limit + 20)
        try plan(1, bytes: 1...1)
        let kinds = { (lines: [TailLine]) in
            lines.map { line in
                if case .event = line.subject { "fate" } else { "push" }
            }
        }
        #expect(kinds(try tail.next()) == Array(repeating: "push", count: TailPush.limit))
        #expect(kinds(try tail.next()) == Array(repeating: "push", count: 20) + ["fate"])
        #expect(try tail.next().isEmpty)
    }

    @Test func bothLogsAreReadByTheirIndexes() throws {
        var options = PostgresOptions(url: TestDatabase.current.url)
        options.session = LogTail.settings(options.session)
        let connection = try PostgresConnection.open(options)
        for (name, sql, more) in [("e", SQL.tailEvents.sql, ""), ("p", SQL.tailPushes.sql, ", NULL, NULL, NULL")] {
            try connection.execute("PREPARE \(name) AS \(sql)")
            let plan = try connection.query(
                "EXPLAIN EXECUTE \(name) (now(), now(), '{}', NULL, NULL, NULL\(more))"
            ).rows.compactMap { $0[0] }
            let log = name == "e" ? "event_log" : "batch_log"
            let index = name == "e" ? "planned_at" : "closed_at"
            let partitions = try connection.query(
                "SELECT count(*) FROM pg_inherits WHERE inhparent = 'fanfare.\(log)'::regclass"
            ).rows[0][0]
            #expect(
                "\(plan.count { $0.contains("Index Scan using \(log)_") && $0.contains("_\(index)_idx") })"
                    == partitions
            )
            #expect(!plan.contains { $0.contains("Seq Scan on \(log)") })
        }
    }
}
