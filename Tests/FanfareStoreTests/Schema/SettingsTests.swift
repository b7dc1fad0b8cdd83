import FanfareCore
import PostgresClient
import PushTransport
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareExplain
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore
@testable import FanfareTools
@testable import fanfare

/// The settings of a database do not affect Fanfare: each row gets a database of its own, and all have the same result.
@Suite(.database, .timeLimit(.minutes(5)))
struct SettingsTests {
    /// Settings for ALTER DATABASE … SET; those that a server does not know are skipped.
    private static let rows = [
        ["search_path = ''"], ["default_transaction_isolation = serializable"], ["row_security = off"],
        ["idle_in_transaction_session_timeout = '5s'", "statement_timeout = '1s'", "lock_timeout = '200ms'"],
        ["idle_session_timeout = '3s'"], ["transaction_timeout = '2s'"], ["default_transaction_read_only = on"],
        [
            "jit_above_cost = 0", "jit_inline_above_cost = 0", "jit_optimize_above_cost = 0",
            "max_parallel_workers_per_gather = 8", "parallel_setup_cost = 0", "parallel_tuple_cost = 0",
            "min_parallel_table_scan_size = 0",
        ],
        ["debug_parallel_query = on"], ["work_mem = '64kB'", "temp_file_limit = '1MB'"],
        [
            "timezone = 'Asia/Kathmandu'", "DateStyle = 'German'", "IntervalStyle = sql_standard",
            "bytea_output = escape", "extra_float_digits = 0",
        ],
        ["transform_null_equals = on", "array_nulls = off"],
        ["plan_cache_mode = force_generic_plan", "enable_indexscan = off", "enable_nestloop = off"],
        ["plpgsql.variable_conflict = use_column", "plpgsql.extra_errors = 'all'"],
        ["standard_conforming_strings = off", "escape_string_warning = off", "backslash_quote = off"],
        ["check_function_bodies = off", "client_encoding = SJIS", "quote_all_identifiers = on"],
    ]

    @Test func theSameHappensWhateverADatabaseSets() async throws {
        let plain = try await lines([])
        #expect(plain.count > 60 && plain.contains("ann accepted accepted orders apns 1"), "\(plain)")
        // The number of databases that a small machine can handle at once.
        let width = 4
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, settings) in Self.rows.enumerated() {
                if number >= width { try await group.next() }
                group.addTask {
                    let lines = try await self.lines(settings)
                    for difference in lines.difference(from: plain) { Issue.record("\(settings): \(difference)") }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Returns the result in a database with these settings.
    private func lines(_ settings: [String]) async throws -> [String] {
        var lines: [String] = []
        try await TestDatabase.with {
            let configuration = try toolConfiguration()
            let database = TestDatabase.current
            let (events, stored) = try await onThread("settings") {
                let world = try SettingsWorld(database, settings)
                try DatabaseSetup(configuration, environment: [:]).migrate()
                return (try world.run(), try world.lines())
            }
            lines = stored + (try await Self.told(of: events, configuration))
        }
        return lines
    }

    /// Returns the output of the commands, without numbers and times.
    private static func told(of events: [Int64], _ configuration: Configuration) async throws -> [String] {
        try await ToolDatabase(configuration, environment: [:]).whileOpen { database in
            var texts: [String] = []
            for event in events { texts.append(try await database.why(eventID: event, user: "ann", app: nil).text) }
            let rules = try await database.ruleSet(app: nil)
            let example = ExampleEvent(payload: #"{"new": {"customer": "ann", "status": "shipped"}, "team": "red"}"#)
            for judgement in try await database.judge(rules, example, configuration) {
                texts.append("\(judgement.rule) \(judgement.isMatched) \(judgement.audience.map { "\($0)" } ?? "none")")
            }
            texts += try rules.explain(example) { _ in "com.example.shop" }.map(\.text)
            texts.append(try await database.status().text)
            // The limit for temporary files is one of the settings.
            texts += await Checkup(configuration, environment: [:]).items(online: false)
                .filter { $0.name != "temp_file_limit" }.map { "\($0.level) \($0.name): \($0.detail)" }
            // Column widths depend on the values.
            return texts.joined(separator: "\n").replacing(/[0-9]+/, with: "#").replacing(/[ ]+/, with: " ")
                .replacing(/-{2,}/, with: "-").split(separator: "\n").map(String.init)
        }
    }
}

/// A shop, its application and a daemon's stages, in a database with the given settings.
private final class SettingsWorld {
    private let world: World
    /// Pins only the settings that would break it or change its payloads.
    private static let applications = SessionSettings(
        [
            ("default_transaction_read_only", "off"), ("quote_all_identifiers", "off"), ("statement_timeout", "0"),
            ("lock_timeout", "0"), ("idle_session_timeout", "0"),
        ],
        whereKnown: [("transaction_timeout", "0")]
    )

    private let application: PostgresConnection
    private let badges: BadgeReader
    private let runner: QueryRunner

    init(_ database: TestDatabase, _ settings: [String]) throws {
        let superuser = try database.connect()
        for setting in settings {
            let name = String(setting.prefix { $0 != " " })
            let isKnown = try superuser.text("SELECT current_setting($1, true)", name) != nil
            guard isKnown || name.contains(".") else { continue }
            try superuser.execute("ALTER DATABASE \"\(database.name)\" SET \(setting)")
        }
        superuser.close()
        world = try World(database)
        application = try .open(PostgresOptions(url: database.url, session: Self.applications))
        badges = BadgeReader(options: world.context.database.badges(), logger: world.context.logger)
        runner = world.queryRunner()
    }

    deinit {
        badges.close()
        application.close()
        world.connection.close()
    }

    /// Runs the whole flow.
    ///
    /// - Returns: the events.
    func run() throws -> [Int64] {
        try prepare()
        try application.execute(
            """
            INSERT INTO public.orders VALUES (1, 'ann', 'new', 'a "b" \u{1F600} \u{e9}'), (2, 'bob', 'new', NULL);
            UPDATE public.orders SET status = 'shipped';
            SELECT fanfare.emit('chat', '{"team": "red", "text": "h\u{e9}"}');
            SELECT fanfare.emit('news', '{"n": 1}', 'k', interval '1 hour');
            SELECT fanfare.emit('news', '{"n": 2}', 'k');
            """
        )
        try send()
        try world.start("lapsed")
        try world.start("sale")
        try world.read()
        try send()
        var chores = world.chores()
        try chores.run(on: world.connection)
        return try world.connection.column("SELECT id FROM fanfare.events ORDER BY id").compactMap { Int64($0) }
    }

    private func prepare() throws {
        try application.execute(
            """
            CREATE TABLE public.orders (id int PRIMARY KEY, customer text, status text, note text);
            CREATE TABLE public.members (team text, user_id text);
            INSERT INTO public.members VALUES ('red', 'ann'), ('red', 'bob'), ('blue', 'cid');
            GRANT SELECT ON public.orders, public.members TO fanfare_sql;
            SELECT fanfare.adopt();
            SELECT fanfare.register_device('shop', 'apns', 'aa01', 'ann', locale => 'de-DE', time_zone => 'Europe/Berlin');
            SELECT fanfare.register_device('shop', 'fcm', 'f1', 'ann', attributes => '{"tier": "gold"}');
            SELECT fanfare.register_device('shop', 'apns', 'bb01', 'bob');
            SELECT fanfare.subscribe(fanfare.device_id('shop', 'apns', 'bb01'), 'sport');
            SELECT fanfare.watch_table('public.orders', 'order.updated');
            """
        )
        try world.rule(
            "orders",
            event: "order.updated",
            to: #"{"users": "$.new.customer"}"#,
            """
            "when": "$.new.status == \\"shipped\\" && !($.new.customer like_regex \\"^x\\\\\\\\d\\")",
            "badge_sql": "SELECT customer, count(*) FROM public.orders WHERE customer = ANY ($1) GROUP BY 1"
            """
        )
        let members = "SELECT user_id FROM public.members WHERE team = $1->>'team'"
        try world.rule("chat", event: "chat", to: #"{"users_sql": "\#(members)"}"#)
        try world.rule("news", event: "news", to: #"{"topic": "sport"}"#, #""collapse": "news""#)
        let audience = "SELECT user_id, jsonb_build_object('team', team) FROM public.members"
        try world.put(
            campaign: "lapsed",
            #""to": {}, "audience_sql": "\#(audience)", "message": {"notification": {"title": "{{recipient.team}}"}}"#
        )
        let payloads = "SELECT jsonb_build_object('u', customer, 'id', id) FROM public.orders"
        try world.put(campaign: "sale", #""to": {"users": "$.u"}, "payload_sql": "\#(payloads)""#)
        try world.schedule()
    }

    /// Plans, runs queries, claims, renders and records until no work is left.
    private func send() throws {
        try world.plan()
        while try runner.takeTurn(on: world.connection) {}
        try world.plan()
        let gates = try world.connection.column("SELECT id FROM fanfare.gates").compactMap { Int32($0) }
        let claimed = try world.claim() + (gates.isEmpty ? [] : try world.claim(gates: gates))
        for prepared in try world.prepare(claimed, badges: badges) {
            bodies += prepared.batch.variants.map { String(decoding: $0.content.body.prefix, as: UTF8.self) }
            let results = prepared.batch.deliveries.indices.map {
                DeliveryResult(position: Int32($0), outcome: .accepted, followUp: nil)
            }
            world.record([
                .opened(prepared.batch, decided: prepared.decided),
                .results(prepared.batch.claimed.claim, results, slots: 0),
            ])
        }
    }

    private var bodies: [String] = []

    /// Returns the contents of the views, and the rendered pushes.
    func lines() throws -> [String] {
        try bodies.sorted()
            + world.connection.column(
                "SELECT concat_ws(' ', user_id, outcome, reason, rule, provider, attempt) FROM fanfare.deliveries ORDER BY 1"
            )
            + world.connection.column(
                "SELECT concat_ws(' ', type, key, fate, detail, payload) FROM fanfare.events ORDER BY 1"
            ).map { $0.replacing(/\d{4}-\d\d-\d\dT[0-9:.+]+/, with: "TIME") }
            + world.connection.column("SELECT concat_ws(' ', name, ok) FROM fanfare.health ORDER BY 1")
            + world.connection.column("SELECT concat_ws(' ', campaign, state) FROM fanfare.campaign_runs ORDER BY 1")
    }
}
