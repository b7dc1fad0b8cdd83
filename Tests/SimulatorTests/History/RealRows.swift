import FanfareCore
import Logging
import PostgresClient
import TestKit

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The same rows in PostgreSQL, changed by the daemon's own statements.
final class RealRows {
    let connection: PostgresConnection
    /// A session whose transactions stay open for a while.
    private let writer: PostgresConnection
    private let context: StageContext
    /// The ids of events in the order of their emit.
    var events: [Int64] = []

    init(_ database: TestDatabase, devices: [Rows.Device], batchSize: Int) throws {
        var settings = StageSettings()
        settings.batchSize = batchSize
        context = StageContext(
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            settings: settings,
            database: DatabaseSessions(base: PostgresOptions(url: database.url))
        )
        connection = try .open(context.database.queue("test"))
        writer = try database.connect()
        for device in devices { try register(device) }
        _ = try connection.query("SELECT fanfare.put_policy('shop', $1::jsonb)", Self.policy)
        for rule in SimulatedRule.all {
            _ = try connection.query("SELECT fanfare.put_rule($1::jsonb)", rule.json)
        }
        try RuleChecker(logger: context.logger).check(on: connection)
        // The model's clock advances by steps, the database's with the machine: there nothing may expire earlier.
        try connection.execute("UPDATE fanfare.rule_versions SET ttl = ttl * 1000")
        _ = try connection.query(
            """
            WITH g AS (INSERT INTO fanfare.gates (rule_id) SELECT rule_id FROM fanfare.rule_versions WHERE id = $1 RETURNING id)
            UPDATE fanfare.rule_versions SET gate_id = g.id FROM g WHERE rule_versions.id = $1
            """,
            "\(History.gatedRule)"
        )
    }

    /// The policy, the same as the model's initial one.
    private static let policy = """
        {"time_zone": "UTC", "quiet_hours": {"from": "23:30", "until": "00:01"},
        "caps": {"few": {"max": 2, "per": "1m"}, "rare": {"max": 3, "per": "5m"}}}
        """

    // MARK: Applications

    func emit(_ type: String, users: [String], key: String?, staysOpen: Bool) throws {
        let list = users.map { "\"\($0)\"" }.joined(separator: ",")
        if staysOpen { try writer.execute("BEGIN") }
        let id = try writer.query("SELECT fanfare.emit($1, $2::jsonb, $3)", type, "{\"u\":[\(list)]}", key)
        events.append(id.rows.first?.first.flatMap { $0 }.flatMap { Int64($0) } ?? 0)
    }

    func commit() throws { try writer.execute("COMMIT") }

    func cancel(_ event: Int64) throws {
        _ = try connection.query("INSERT INTO fanfare.cancels (event_id) VALUES ($1)", "\(event)")
    }

    func register(_ device: Rows.Device) throws {
        let environment = device.target == 1 ? "production" : "sandbox"
        _ = try connection.query(
            "SELECT fanfare.register_device('shop', 'apns', $1, $2, environment => $3, time_zone => $4)",
            device.token,
            device.user,
            environment,
            device.zone
        )
    }

    func registeredAt(_ device: Int64) throws -> Microseconds {
        let sql = "SELECT (extract(epoch FROM registered_at) * 1000000)::bigint FROM fanfare.devices WHERE id = $1"
        return try connection.query(sql, "\(device)").rows.first?.first.flatMap { $0 }.flatMap { Int64($0) } ?? 0
    }

    // MARK: Planning

    /// Runs a round in its transaction, as `PlannerLoop` does.
    func plan(_ statement: PlanRound) throws -> PlanRoundSummary {
        let planner = AudiencePlanner(context: context, rules: RuleCache())
        return try connection.transaction(beginningWith: statement) { connection, parts throws(PostgresError) in
            let round = PlanRoundSummary(parts)
            _ = try planner.plan(round.deferred, on: connection)
            return round
        }
    }

    /// Runs a slice in its transaction, as `Slicer` does.
    func slice(batchSize: Int) throws -> Bool {
        try connection.transaction { connection throws(PostgresError) in
            guard let plan = try connection.run(LockPlan()).first else { return false }
            if !plan.isCancelled {
                _ = try SliceStatements(plan: plan)
                    .expand(upTo: plan.lastDevice, of: plan.lastDevice, batchSize: batchSize, on: connection)
            }
            _ = try connection.runReturningCount(AdvancePlan(plan: plan, cursor: plan.lastDevice, deliveries: 0))
            return true
        }
    }

    // MARK: Reading

    /// Returns the rows as sorted text, with events by number and batches without ids.
    func summary() throws -> [String] {
        let batches = try connection.query(Self.batchSQL("fanfare.batches", live: true)).rows.map { row in
            "batch " + row.map { $0 ?? "-" }.joined(separator: " ")
        }
        let log = try connection.query(Self.batchSQL("fanfare.batch_log", live: false)).rows.map { row in
            "log " + row.map { $0 ?? "-" }.joined(separator: " ")
        }
        let devices = try connection.query(
            "SELECT id, target_id, coalesce(disabled_reason, '-') FROM fanfare.devices"
        ).rows.map { "device " + $0.map { $0 ?? "-" }.joined(separator: " ") }
        let fates = try connection.query("SELECT id, fate FROM fanfare.event_log").rows.map { row in
            "event \(number(row[0])) \(row[1] ?? "-")"
        }
        let rest = try connection.query(
            """
            SELECT 'outbox', id FROM fanfare.outbox UNION ALL SELECT 'plan ' || rule_version, event_id FROM fanfare.plans
            UNION ALL SELECT 'instance', id FROM fanfare.instances
            """
        ).rows.map { row in
            "\(row[0] ?? "-") \(row[0] == "instance" ? row[1] ?? "-" : number(row[1]))"
        }
        return (batches.map(numbered) + log.map(numbered) + devices + fates + rest).sorted()
    }

    /// Returns the ids of batches in the queue, by ``summary()``'s name of the first delivery.
    func batchIDs() throws -> [String: Int64] {
        let rows = try connection.query(
            "SELECT coalesce(event_id, event_ids[1]), rule_version, device_ids[1], id FROM fanfare.batches"
        ).rows
        let named = rows.map { row in
            ("\(number(row[0]))/\(row[1] ?? "")/\(row[2] ?? "")", row[3].flatMap { Int64($0) } ?? 0)
        }
        return Dictionary(named) { first, _ in first }
    }

    private static func batchSQL(_ table: String, live: Bool) -> String {
        let queue = live ? ", history, owner, lease_token, not_before > clock_timestamp() + interval '1 minute'" : ""
        return """
            SELECT '[' || array_to_string(coalesce(event_ids, array_fill(event_id, ARRAY[cardinality(device_ids)])), ',') || ']',
                rule_version, target_id, lane, attempt, array_to_string(device_ids, ','), encode(outcomes, 'hex'),
                parent_id IS NOT NULL\(queue)
            FROM \(table)
            """
    }

    private func number(_ event: String?) -> String {
        event.flatMap { Int64($0) }.flatMap { events.firstIndex(of: $0) }.map { "#\($0)" } ?? "?"
    }

    /// Replaces the event ids in a line's brackets by their numbers.
    private func numbered(_ line: String) -> String {
        line.replacing(/\[([0-9,]*)\]/) { match in
            match.1.split(separator: ",").map { number(String($0)) }.joined(separator: ",")
        }
    }
}

extension Rows {
    /// Returns the rows as ``RealRows/summary()`` does.
    ///
    /// - Parameter emitted: the ids of events, in the order of their emit.
    func summary(_ emitted: [Int64]) -> [String] {
        func number(_ event: Int64) -> String { emitted.firstIndex(of: event).map { "#\($0)" } ?? "?" }
        func text(_ batch: Batch) -> String {
            let events = batch.deviceIDs.indices.map { number(batch.eventID(at: $0)) }.joined(separator: ",")
            let devices = batch.deviceIDs.map(String.init).joined(separator: ",")
            let outcomes = batch.outcomes.map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }.joined()
            let place = "\(events) \(batch.ruleVersion) \(batch.target) \(batch.lane) \(batch.attempt)"
            return "\(place) \(devices) \(outcomes) \(batch.parentID == nil ? "f" : "t")"
        }
        let queue = batches.values.map { batch in
            let owner = batch.owner.map { "\($0)" } ?? "-"
            let token = batch.leaseToken.map { "\($0)" } ?? "-"
            return
                "batch \(text(batch)) \(batch.history) \(owner) \(token) \(batch.notBefore > now + Micros.minute ? "t" : "f")"
        }
        let visible = outbox.filter { !open.contains($0.xid) }.map { "outbox \(number($0.id))" }
        return
            (queue + log.values.map { "log \(text($0))" }
            + devices.values.map { "device \($0.id) \($0.target) \($0.disabledReason ?? "-")" }
            + events.map { "event \(number($0.key)) \($0.value.fate.rawValue)" } + visible
            + plans.map { "plan \($0.ruleVersion) \(number($0.eventID))" } + instances.keys.map { "instance \($0)" })
            .sorted()
    }
}
