import FanfareCore
import Logging
import PostgresClient
import TestKit
import Testing

@testable import APIKit
@testable import FanfareSending
@testable import FanfareService

/// Rows as daemons leave them in the log.
extension APIWorld {
    /// Registers devices of users.
    ///
    /// - Parameter users: the users, each with one device, in this order.
    /// - Returns: the devices' ids.
    func devices(_ users: String...) async throws -> [Int64] {
        var ids: [Int64] = []
        for (number, user) in users.enumerated() {
            let token = String(repeating: "ab\(number)\(number)", count: 16)
            let user = user.replacing("'", with: "''")
            let rows = try await rows("SELECT fanfare.register_device('shop', 'apns', '\(token)', '\(user)')::text")
            ids.append(try #require(Int64(rows.first?.first.flatMap(\.self) ?? "")))
        }
        return ids
    }

    /// Stores a rule and puts it into force.
    ///
    /// - Parameters:
    ///   - name: the rule's name in app `shop`.
    ///   - type: the event type.
    ///   - when: its condition.
    ///   - to: its audience.
    func rule(
        _ name: String,
        for type: String,
        when: String? = nil,
        to: String = #"{"everyone": true}"#
    ) async throws {
        let condition = when.map { #""when": "\#($0)", "# } ?? ""
        _ = try await rows(
            """
            SELECT fanfare.put_rule('{"app": "shop", "name": "\(name)", "event": "\(type)", \(condition)"to": \(to),
                "message": {"notification": {"title": "T"}}}')
            """
        )
        let database = TestDatabase.current
        try await onThread {
            let connection = try database.connect()
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            try RuleChecker(logger: logger).check(on: connection)
            // The rule must be older than this morning's events.
            try connection.execute("UPDATE fanfare.rules SET created_at = created_at - interval '2 days'")
        }
    }

    /// Writes events into the log, a second apart.
    ///
    /// - Parameters:
    ///   - type: the event type.
    ///   - count: the number of events.
    ///   - from: the time of the first, in seconds from the beginning of today.
    ///   - fate: 1 is planned, 3 unmatched.
    ///   - key: SQL for the key, in which `n` counts from 1.
    ///   - detail: SQL for the detail.
    /// - Returns: the events' ids.
    func logged(
        _ type: String,
        _ count: Int = 1,
        from first: Int = 1,
        fate: Int = 1,
        key: String = "NULL",
        detail: String = "NULL"
    )
        async throws -> [Int64]
    {
        let rows = try await rows(
            """
            WITH made AS MATERIALIZED (SELECT fanfare.new_event_id() AS id, n FROM generate_series(1, \(count)) AS n)
            INSERT INTO fanfare.event_log (day, fate, id, type, key, created_at, planned_at, detail, payload)
            SELECT fanfare.ring_day(id), \(fate), id, '\(type)', \(key),
                date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' + (n + \(first - 1)) * interval '1 s', now(), \(detail), '{"n": 9007199254740993}'
            FROM made RETURNING id::text
            """
        )
        return rows.compactMap { $0[0].flatMap { Int64($0) } }.sorted()
    }

    /// Writes a batch of an event into the log.
    ///
    /// - Parameters:
    ///   - event: the event.
    ///   - devices: the devices.
    ///   - outcomes: a code for each device.
    ///   - attempt: the number of the attempt, from 1.
    func batch(_ event: Int64, _ devices: [Int64], _ outcomes: [UInt8], attempt: Int = 1) async throws {
        let digits = outcomes.map { String(Int($0) + 256, radix: 16).dropFirst() }.joined()
        let sorted = devices.sorted()
        _ = try await rows(
            """
            INSERT INTO fanfare.batch_log (day, lane, target_id, attempt, id, created_at, first_device, last_device,
                rule_version, event_id, outcomes, device_ids)
            SELECT fanfare.ring_day(b.id), 1, (SELECT min(target_id) FROM fanfare.devices), \(attempt), b.id, now(), \(sorted[0]),
                \(sorted[sorted.count - 1]), (SELECT min(id) FROM fanfare.rule_versions), \(event), '\\x\(digits)', '{\(ids(devices))}'
            FROM (SELECT fanfare.new_batch_id() AS id) AS b
            """
        )
    }

    /// Inserts a pending batch of an event.
    func waitingBatch(_ event: Int64, _ devices: [Int64], attempt: Int = 1) async throws {
        _ = try await rows(
            """
            INSERT INTO fanfare.batches (lane, target_id, rule_version, event_id, attempt, device_ids)
            SELECT 1, (SELECT min(target_id) FROM fanfare.devices), (SELECT min(id) FROM fanfare.rule_versions), \(event), \(attempt),
                '{\(ids(devices))}'
            """
        )
    }

    private func ids(_ devices: [Int64]) -> String { devices.map(String.init).joined(separator: ",") }
}
