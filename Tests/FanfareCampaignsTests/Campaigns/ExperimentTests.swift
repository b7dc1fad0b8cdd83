import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareCampaigns
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The sample of a campaign that gets all variants, and the variant that the others get.
@Suite(.database)
struct ExperimentTests {
    private static let halves = #""report": true, "variants": [{"name": "a"}, {"name": "b"}]"#
    private static let experiment = #""experiment": {"share": "50%", "wait": "20m"}"#

    private let world: World

    init() throws {
        world = try World(settings: StageSettings(batchSize: 500))
    }

    /// Creates devices that have reported before, stores the campaign `sale`, starts it and sends to its sample.
    ///
    /// - Returns: the event.
    private func start(devices: Int = 4000, _ experiment: String = experiment, _ more: String = halves) throws -> Int64
    {
        try world.connection.execute(
            """
            SELECT fanfare.register_device('shop', 'apns', 'ca' || lpad(to_hex(n), 62, '0'), 'user-' || n)
            FROM generate_series(1, \(devices)) AS n;
            INSERT INTO fanfare.reporting_devices SELECT id, now() - interval '1 day' FROM fanfare.devices
            """
        )
        try world.put(campaign: "sale", "\(experiment), \(more)")
        try world.schedule()
        _ = try world.connection.query("SELECT fanfare.start_campaign('shop', 'sale')")
        try world.plan()
        let gate = try world.connection.number("SELECT gate_id FROM fanfare.runs")
        while case let batches = try world.claim(gates: [Int32(gate)]), !batches.isEmpty {
            for batch in batches {
                let outcomes = batch.deviceIDs.map { _ in UInt8(1) }
                let tally = OutcomeTally(batchID: batch.id, outcome: 1, deliveries: Int64(outcomes.count))
                let record = BatchRecord(id: batch.id, leaseToken: batch.leaseToken, outcomes: outcomes)
                _ = try world.connection.run(CloseBatches(owner: 1, batches: [record], retries: [], tallies: [tally]))
            }
        }
        try world.schedule()
        return try world.connection.number("SELECT event_id FROM fanfare.runs")
    }

    /// Lets a share of each variant of the sample open the push: one in so many.
    private func open(_ event: Int64, a: Int, b: Int) throws {
        try world.connection.execute(
            """
            INSERT INTO fanfare.reports_pending (event_id, device_id, rule_version, variant, kind)
            SELECT \(event), x.id, x.version, 0, 2 FROM (
                SELECT d.id, v.id AS version, g.variant, row_number() OVER (PARTITION BY g.variant ORDER BY d.id) AS n
                FROM fanfare.devices AS d CROSS JOIN (SELECT * FROM fanfare.rule_versions ORDER BY id LIMIT 1) AS v
                CROSS JOIN LATERAL fanfare.variant_of(v.definition::jsonb, d.user_id, d.id) AS g (variant)
                WHERE d.id IN (SELECT unnest(device_ids) FROM fanfare.batch_log WHERE event_id = \(event))
            ) AS x WHERE x.n % CASE x.variant WHEN 'a' THEN \(a) ELSE \(b) END = 0
            """
        )
        try world.foldReports()
    }

    private func run(_ column: String) throws -> String? {
        try world.connection.text("SELECT \(column) FROM fanfare.runs")
    }

    private func held() throws -> String? {
        try world.state(Int32(world.connection.number("SELECT held_gate_id FROM fanfare.runs")))
    }

    /// The variants that waiting recipients would get, by the rule version of their batch.
    private func waiting() throws -> [String] {
        try world.connection.column(
            """
            SELECT DISTINCT fanfare.variant_of(v.definition::jsonb, d.user_id, d.id) FROM fanfare.batches AS b
            JOIN fanfare.rule_versions AS v ON v.id = b.rule_version
            CROSS JOIN LATERAL unnest(b.device_ids) AS u (id) JOIN fanfare.devices AS d ON d.id = u.id ORDER BY 1
            """
        )
    }

    @Test func theBetterVariantGoesToTheOthers() throws {
        let event = try start()
        try open(event, a: 10, b: 4)
        try world.schedule(at: "now() + interval '19 minutes'")
        #expect(try held() == "held")
        #expect(try run("verdict") == nil)
        #expect(try waiting() == ["a", "b"])
        try world.schedule(at: "now() + interval '21 minutes'")
        #expect(try run("verdict") == "passed" && run("winner") == "b")
        #expect(try run("figures ->> 'verdict'") == "winner")
        #expect(try run("figures #>> '{arms,1,variant}'") == "b")
        #expect(try held() == "open")
        #expect(try waiting() == ["b"])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.alarms") == 0)
        // The others are sent once, and the run ends.
        let waits = try world.connection.number("SELECT sum(cardinality(device_ids)) FROM fanfare.batches")
        let sampled = try world.connection.number("SELECT sum(cardinality(device_ids)) FROM fanfare.batch_log")
        #expect(waits + sampled == 4000 && waits > 1500)
        try world.answer()
        try world.schedule(at: "now() + interval '22 minutes'")
        #expect(try run("state") == "done")
        #expect(
            try world.connection.column("SELECT DISTINCT rule_version FROM fanfare.deliveries ORDER BY 1") == [
                "1", "2",
            ]
        )
        // The next run is an experiment again, and storing the campaign again changes nothing.
        #expect(try world.put(campaign: "sale", "\(Self.experiment), \(Self.halves)") == 1)
        #expect(
            try world.connection.column("SELECT version FROM fanfare.rule_versions WHERE retired_at IS NULL") == ["1"]
        )
    }

    @Test func whatIsNotClearIsHeldUntilAnOperatorDecides() throws {
        let event = try start()
        try open(event, a: 5, b: 5)
        try world.schedule(at: "now() + interval '21 minutes'")
        #expect(try run("winner") == nil && held() == "held")
        #expect(try run("figures ->> 'verdict'") == "unclear")
        let alarm = try world.connection.text("SELECT detail FROM fanfare.alarms WHERE name = 'experiment/shop/sale'")
        #expect(alarm?.contains("not clear; the others wait: `fanfare campaigns resume shop sale`") == true)
        #expect(alarm?.hasPrefix("a ") == true && alarm?.contains(", b ") == true, "the figures of the sample")
        #expect(
            try world.connection.text("SELECT hold FROM fanfare.campaign_runs")?.hasPrefix("experiment, not decided")
                == true
        )
        // Twenty evaluations, a quarter of `wait` apart.
        for look in 1...25 { try world.schedule(at: "now() + \(21 + look * 5 + 1) * interval '1 minute'") }
        #expect(try run("looks") == "20" && run("look_at") == "infinity" && held() == "held")
        #expect(throws: PostgresError.self) {
            try world.connection.query("SELECT fanfare.resume_campaign('shop', 'sale', 'c')")
        }
        #expect(try world.connection.text("SELECT fanfare.resume_campaign('shop', 'sale', 'a')") == "t")
        #expect(try run("winner") == "a" && held() == "open")
        #expect(try run("figures ->> 'decided_by'") == "operator")
        #expect(try waiting() == ["a"])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.alarms") == 0)
        #expect(throws: PostgresError.self) {
            try world.connection.query("SELECT fanfare.resume_campaign('shop', 'sale', 'a')")
        }
    }

    @Test func resumingWithoutAWinnerSendsEachTheirOwnVariant() throws {
        _ = try start(devices: 400)
        try world.schedule(at: "now() + interval '21 minutes'")
        #expect(try run("figures ->> 'verdict'") == "too_small" && held() == "held")
        // A pause that ends is no decision.
        _ = try world.connection.query("SELECT fanfare.pause_campaign('shop', 'sale')")
        #expect(try world.connection.text("SELECT fanfare.resume_campaign('shop', 'sale')") == "t")
        #expect(try held() == "held")
        #expect(try world.connection.text("SELECT fanfare.resume_campaign('shop', 'sale')") == "t")
        #expect(try held() == "open" && run("winner") == nil)
        #expect(try waiting() == ["a", "b"])
        #expect(try world.connection.text("SELECT fanfare.resume_campaign('shop', 'sale')") == "f")
    }

    /// An operator need not wait for the first evaluation.
    @Test func aWinnerCanBeChosenWhileTheSampleIsJudged() throws {
        _ = try start(devices: 400)
        #expect(try run("verdict") == nil && held() == "held")
        #expect(try world.connection.text("SELECT fanfare.resume_campaign('shop', 'sale')") == "f")
        #expect(try held() == "held", "resuming twice does not end it")
        #expect(world.connection.refusal("SELECT fanfare.resume_campaign('shop', 'sale', 'c')")?.sqlState == "22023")
        #expect(try world.connection.text("SELECT fanfare.resume_campaign('shop', 'sale', 'b')") == "t")
        #expect(try run("winner") == "b" && held() == "open" && waiting() == ["b"])
        try world.schedule(at: "now() + interval '21 minutes'")
        #expect(try run("winner") == "b" && run("looks") == "1")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.alarms") == 0)
    }

    @Test func aWinnerIsAVariantAlsoIfNoRecipientWaits() throws {
        _ = try start(devices: 400)
        try world.schedule(at: "now() + interval '21 minutes'")
        try world.connection.execute("DELETE FROM fanfare.batches")
        #expect(world.connection.refusal("SELECT fanfare.resume_campaign('shop', 'sale', 'c')")?.sqlState == "22023")
        #expect(try run("winner") == nil)
    }

    /// The campaign may have got other variants while the others wait.
    @Test func theWinnerIsOneOfTheSample() throws {
        _ = try start(devices: 400)
        try world.schedule(at: "now() + interval '21 minutes'")
        try world.put(
            campaign: "sale",
            #"\#(Self.experiment), "report": true, "variants": [{"name": "c"}, {"name": "d"}]"#
        )
        try world.schedule()
        #expect(world.connection.refusal("SELECT fanfare.resume_campaign('shop', 'sale', 'c')")?.sqlState == "22023")
        #expect(try world.connection.text("SELECT fanfare.resume_campaign('shop', 'sale', 'a')") == "t")
        #expect(try run("winner") == "a" && waiting() == ["a"])
    }

    /// A schedule may start the next run while the first one waits.
    @Test func allRunsThatWaitAreDecidedAtOnce() throws {
        _ = try start(devices: 400)
        try world.schedule(at: "now() + interval '21 minutes'")
        try world.connection.execute(
            """
            WITH held AS (
                INSERT INTO fanfare.gates (rule_id, run_id, state)
                SELECT g.rule_id, (SELECT max(id) + 1 FROM fanfare.runs), 'held' FROM fanfare.gates AS g
                JOIN fanfare.runs AS o ON o.held_gate_id = g.id RETURNING id
            )
            INSERT INTO fanfare.runs (campaign_id, event_id, state, gate_id, held_gate_id, canary_share, canary_max_failed, canary_wait, verdict, experiment, look_at,
                looks, fired_at, scheduled_at)
            SELECT o.campaign_id, o.event_id, o.state, o.gate_id, h.id, o.canary_share, o.canary_max_failed, o.canary_wait, 'passed', o.experiment, o.look_at, 1, o.fired_at,
                o.scheduled_at + interval '1 day'
            FROM fanfare.runs AS o CROSS JOIN held AS h
            """
        )
        #expect(try world.connection.text("SELECT fanfare.resume_campaign('shop', 'sale', 'b')") == "t")
        #expect(try world.connection.column("SELECT winner FROM fanfare.runs") == ["b", "b"])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.gates WHERE state = 'held'") == 0)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.alarms") == 0)
    }

    @Test func theBestIsTakenAtOnceIfItIsAskedFor() throws {
        let event = try start(
            devices: 400,
            #""experiment": {"share": "50%", "wait": "1m", "unclear": "best"}"#
        )
        try open(event, a: 5, b: 6)
        try world.schedule(at: "now() + interval '2 minutes'")
        #expect(try run("winner") == "a" && run("figures ->> 'verdict'") == "too_small")
        #expect(try waiting() == ["a"])
    }

    @Test func conversionsDecideWithoutReports() throws {
        let event = try start(
            #""experiment": {"share": "50%", "wait": "1m", "by": "converted"}"#,
            #""holdout": "10%", "conversion": {"event": "paid", "user": "$.c"}, "variants": [{"name": "a"}, {"name": "b", "weight": 3}]"#
        )
        try world.connection.execute(
            """
            SELECT count(fanfare.emit('paid', jsonb_build_object('c', x.user_id))) FROM (
                SELECT d.user_id, g.variant, row_number() OVER (PARTITION BY g.variant ORDER BY d.id) AS n
                FROM fanfare.devices AS d CROSS JOIN (SELECT * FROM fanfare.rule_versions ORDER BY id LIMIT 1) AS v
                CROSS JOIN LATERAL fanfare.variant_of(v.definition::jsonb, d.user_id, d.id) AS g (variant)
                WHERE d.id IN (SELECT unnest(device_ids) FROM fanfare.batch_log WHERE event_id = \(event))
            ) AS x WHERE x.n % CASE x.variant WHEN 'a' THEN 2 ELSE 9 END = 0
            """
        )
        try world.planRounds()
        try world.schedule(at: "now() + interval '2 minutes'")
        #expect(try run("winner") == nil && run("figures ->> 'verdict'") == "too_small", "500 people each are needed")
        #expect(try run("figures #>> '{arms,0,variant}'") == "a")
        #expect(try world.connection.number("SELECT (figures #>> '{arms,0,successes}')::int FROM fanfare.runs") > 100)
    }

    @Test func aDroppedCampaignAndACancelledRunLeaveNothingBehind() throws {
        _ = try start(devices: 400)
        try world.schedule(at: "now() + interval '21 minutes'")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.alarms") == 1)
        _ = try world.connection.query("SELECT fanfare.drop_campaign('shop', 'sale')")
        #expect(try run("state") == "aborting" && run("look_at") == nil && held() == "aborting")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.alarms") == 0)
    }

    @Test func aRunThatEndsTakesItsAlarmWithIt() throws {
        _ = try start(devices: 400)
        try world.schedule(at: "now() + interval '21 minutes'")
        try world.connection.execute("DELETE FROM fanfare.batches")
        try world.schedule(at: "now() + interval '22 minutes'")
        #expect(try run("state") == "done" && run("look_at") == nil)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.alarms") == 0)
    }

    @Test func aPauseDoesNotHideThatNothingIsDecided() throws {
        _ = try start(devices: 400)
        try world.schedule(at: "now() + interval '21 minutes'")
        _ = try world.connection.query("SELECT fanfare.pause_campaign('shop', 'sale')")
        _ = try world.connection.query("SELECT fanfare.resume_campaign('shop', 'sale')")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.alarms") == 1)
    }

    @Test func aTestGoesWithoutConversions() throws {
        let more =
            #""holdout": "10%", "conversion": {"event": "paid", "user": "$.c"}, "variants": [{"name": "a"}, {"name": "b"}]"#
        try world.put(campaign: "sale", more)
        try world.schedule()
        try world.device("ab00", user: "ann")
        _ = try world.connection.query("SELECT fanfare.test_campaign('shop', 'sale', '{ann}')")
        try world.schedule()
        #expect(
            try world.connection.column("SELECT state FROM fanfare.rule_versions ORDER BY id") == ["active", "active"]
        )
    }

    @Test(arguments: [
        (#""experiment": {"share": "20%"}, "report": true"#, "experiment: needs two variants"),
        (
            #""experiment": {"share": "20%"}, "report": true, "variants": [{"name": "a"}, {"name": "b", "weight": 0}]"#,
            "experiment: needs two variants"
        ),
        (
            #""experiment": {"share": "20%"}, "variants": [{"name": "a"}, {"name": "b"}]"#,
            "experiment.by: needs report: true"
        ),
        (
            #""experiment": {"share": "20%", "by": "converted"}, \#(halves)"#, "experiment.by: needs conversion"
        ),
        (#""experiment": {"share": "20%"}, "canary": {"share": "1%"}, \#(halves)"#, "experiment: is beside canary"),
        (#""experiment": {}, \#(halves)"#, "experiment.share: is missing"),
        (
            #""experiment": {"share": "20%", "wait": "2d"}, \#(halves)"#,
            "experiment.wait: is not shorter than the ttl"
        ),
        (
            #""experiment": {"share": "20%"}, "schedule": {"cron": "0 9 * * *", "time_zone": "recipient"}, \#(halves)"#,
            "experiment: cannot be with time_zone: recipient"
        ),
        (
            #""experiment": {"share": "20%"}, "to": {"users": "$.u"}, \#(halves)"#,
            "experiment: cannot be for this audience"
        ),
    ])
    func refusals(_ campaign: String, _ problem: String) throws {
        let json =
            #"{"app": "shop", "name": "sale", "message": {"notification": {"title": "T"}}, "#
            + (campaign.contains(#""to""#) ? "" : #""to": {"everyone": true}, "#) + "\(campaign)}"
        let found = try world.connection.query(
            "SELECT place || ': ' || reason FROM fanfare.campaign_error($1::jsonb)",
            json
        ).rows.first?[0]
        #expect(found == problem)
        let value = try JSONValue(parsing: json)
        do throws(RuleProblem) {
            _ = try CampaignDefinition(json: value)
            Issue.record("accepted")
        } catch {
            #expect("\(error.path): \(error.reason)" == problem)
        }
    }
}
