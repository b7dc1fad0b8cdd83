import FanfareCore
import Logging
import PostgresClient
import TestKit
import Threading

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// A database with an app, and stages that run when a test calls them; used by one thread.
final class World {
    /// A session with the settings of the queue stages.
    let connection: PostgresConnection
    let context: StageContext
    let bells = StageBells()
    let orders = Orders()
    let catalog = Catalog()
    let figures = Figures(PipelineCounters())
    let limits: Limits

    /// Opens a session on a test's database.
    init(
        _ database: TestDatabase = .current,
        settings: StageSettings = StageSettings(),
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) throws {
        context = StageContext(
            logger: logger,
            settings: settings,
            database: DatabaseSessions(base: PostgresOptions(url: database.url))
        )
        limits = Limits(capacity: settings.unrecorded)
        connection = try .open(context.database.queue("test"))
    }

    /// Puts a rule of app `shop` into force, with `event`, `to` and other JSON members.
    @discardableResult
    func rule(_ name: String, event: String, to: String, _ more: String = "") throws -> Int64 {
        let message = more.contains(#""message""#) ? "" : #", "message": {"notification": {"title": "T"}}"#
        let rest = more.isEmpty ? "" : ", " + more
        let json = #"{"app": "shop", "name": "\#(name)", "event": "\#(event)", "to": \#(to)\#(message)\#(rest)}"#
        _ = try connection.query("SELECT fanfare.put_rule($1::jsonb)", json)
        try RuleChecker(logger: context.logger).check(on: connection)
        let newest = try connection.query(
            """
            SELECT v.id, v.state, v.reason FROM fanfare.rule_versions AS v JOIN fanfare.rules AS r ON r.id = v.rule_id
            WHERE r.name = $1 ORDER BY v.id DESC LIMIT 1
            """,
            name
        ).rows[0]
        guard newest[1] == "active", let id = newest[0].flatMap({ Int64($0) }) else {
            throw RuleRefused(reason: newest[2] ?? "no reason")
        }
        return id
    }

    /// Registers a device of app `shop`.
    ///
    /// - Parameter more: named arguments of `register_device`, as SQL.
    @discardableResult
    func device(_ token: String, user: String? = nil, provider: String = "apns", _ more: String = "") throws -> Int64 {
        try connection.number(
            "SELECT fanfare.register_device('shop', $1, $2, $3\(more.isEmpty ? "" : ", " + more))",
            provider,
            token,
            user
        )
    }

    /// Registers an Android phone of app `shop`.
    func register(android token: String, user: String) throws {
        try device(token, user: user, provider: "fcm")
    }

    /// Registers a simulated device of app `shop`.
    func register(_ device: SimulatedDevice, user: String) throws {
        _ = try connection.query(
            "SELECT fanfare.register_device('shop', $1, $2, $3, p256dh => $4, auth => $5)",
            device.provider,
            device.token,
            user,
            device.p256dh,
            device.auth
        )
    }

    /// Registers a browser of app `shop`.
    func register(_ browser: BrowserSubscription, user: String) throws {
        _ = try connection.query(
            "SELECT fanfare.register_device('shop', 'webpush', $1, $2, p256dh => $3, auth => $4)",
            browser.endpoint,
            user,
            browser.keys.p256dh,
            browser.keys.auth
        )
    }

    /// Registers a user's devices in bulk, with unique tokens.
    ///
    /// - Returns: the first and the last id.
    @discardableResult
    func devices(_ count: Int, user: String? = nil) throws -> ClosedRange<Int64> {
        let row = try connection.query(
            """
            SELECT min(id), max(id) FROM (
                SELECT fanfare.register_device('shop', 'apns', encode(sha256((g || gen_random_uuid()::text)::bytea), 'hex'), $2) AS id
                FROM generate_series(1, $1::int) AS g) AS made
            """,
            String(count),
            user
        ).rows[0].compactMap { $0.flatMap { Int64($0) } }
        return row[0]...row[1]
    }

    /// Emits an event and returns its id.
    @discardableResult
    func emit(_ type: String, _ payload: String = "{}", key: String? = nil, ttl: String? = nil) throws -> Int64 {
        try connection.number("SELECT fanfare.emit($1, $2::jsonb, $3, $4::interval)", type, payload, key, ttl)
    }

    /// Plans until outbox and quarantine are empty and large audiences are expanded.
    func plan() throws {
        try planRounds()
        var lane = quarantine()
        try lane.plan(on: connection)
        if try connection.number("SELECT count(*) FROM fanfare.plans") > 0 { try slice() }
    }

    /// Plans the events of the outbox, without expanding large audiences.
    func planRounds() throws {
        var loop = self.loop()
        _ = try loop.begin(on: connection)
        // The planner's half second is too short for a test that counts 25,000 deliveries on a busy machine.
        try connection.execute("SET statement_timeout = '30s'; SET lock_timeout = '5s'")
    }

    /// Runs the slicer's stage until no plan is left.
    func slice() throws {
        let slicer = self.slicer()
        let thread = WorkerThread.start(name: "slicer") { slicer.run() }
        defer {
            slicer.stop()
            thread.join()
        }
        try connection.waitUntil("SELECT NOT EXISTS (SELECT FROM fanfare.plans)")
    }

    /// Returns an event's fate.
    func fate(_ event: Int64) throws -> String? {
        try connection.text("SELECT fate FROM fanfare.events WHERE id = $1", String(event))
    }

    /// Returns the detail of an event's fate.
    func detail(_ event: Int64) throws -> String? {
        try connection.text("SELECT detail FROM fanfare.events WHERE id = $1", String(event))
    }

    /// Returns the devices that an event was planned for, sorted, with repetitions.
    func recipients(_ event: Int64) throws -> [Int64] {
        try connection.column(
            "SELECT device_id FROM fanfare.deliveries WHERE event_id = $1 ORDER BY device_id",
            String(event)
        ).compactMap { Int64($0) }
    }

    /// Claims all due batches for an owner.
    func claim(owner: Int32 = 1, leaseToken: Int64 = 1) throws -> [ClaimedBatch] {
        let requests = try connection.run(SQL.allTargets()).flatMap { target in
            SendQueue.allCases.map { BatchRequest(target: target.id, queue: $0, count: 1000, floor: .minusInfinity) }
        }
        return try connection.run(ClaimBatches(requests: requests, owner: owner, leaseToken: leaseToken))
    }
}

extension World {
    /// Reads and renders claimed batches as the claimer does.
    func prepare(
        _ claimed: [ClaimedBatch],
        owner: Int32 = 1,
        badges: BadgeReader? = nil
    ) throws -> [BatchPreparer.Prepared] {
        catalog.targets.replace(try connection.run(SQL.allTargets()))
        let path = FCMRequest.path(project: "shop")
        let apps: [String: AppIdentity] = [
            "shop": [
                .apns: ProviderIdentity(topic: "com.example.shop"), .fcm: ProviderIdentity(path: Array(path.utf8)),
            ]
        ]
        return try BatchPreparer(context: context, orders: orders, catalog: catalog, apps: apps, badges: badges)
            .prepare(claimed, owner: owner, on: connection)
    }

    /// Passes messages to a recorder, lets it write everything, and stops it.
    func record(_ messages: [RecorderMessage]) {
        let mailbox = Mailbox<RecorderMessage>()
        let recorder = self.recorder(of: mailbox)
        for message in messages { _ = mailbox.put(message) }
        recorder.stop()
        recorder.run()
    }

    /// Returns the outcomes of an event's deliveries in order of device and attempt, as `outcome/reason`.
    func outcomes(_ event: Int64) throws -> [String] {
        try connection.column(
            "SELECT outcome || '/' || reason FROM fanfare.deliveries WHERE event_id = $1 ORDER BY device_id, attempt",
            String(event)
        )
    }
}

private struct RuleRefused: Error {
    let reason: String
}
