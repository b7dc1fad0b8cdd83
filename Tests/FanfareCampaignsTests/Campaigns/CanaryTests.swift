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

/// The devices that a campaign is sent to first, and the decision from their answers.
@Suite(.database)
struct CanaryTests {
    private let world: World

    init() throws {
        world = try World(settings: StageSettings(batchSize: 50))
    }

    /// Creates devices, stores the campaign `sale` with a canary, starts and plans it.
    ///
    /// - Returns: the run's gates: the canary's and the others'.
    private func start(devices: Int, canary: String) throws -> (canary: Int32, held: Int32) {
        try world.connection.execute(
            """
            SELECT fanfare.register_device('shop', 'apns', 'ca' || lpad(to_hex(n), 62, '0'), 'user-' || n)
            FROM generate_series(1, \(devices)) AS n
            """
        )
        try world.put(campaign: "sale", #""canary": \#(canary)"#)
        try world.schedule()
        _ = try world.connection.query("SELECT fanfare.start_campaign('shop', 'sale')")
        try world.plan()
        let gate = { (column: String) throws in
            Int32(try world.connection.number("SELECT \(column) FROM fanfare.runs ORDER BY id DESC LIMIT 1"))
        }
        return (try gate("gate_id"), try gate("held_gate_id"))
    }

    private func waiting(_ gate: Int32) throws -> Int64 {
        try world.connection.number(
            "SELECT coalesce(sum(cardinality(device_ids)), 0) FROM fanfare.batches WHERE gate_id = \(gate)"
        )
    }

    /// Records answers for all deliveries behind a gate: every n-th is a failure, the rest are accepted.
    private func answer(_ gate: Int32, failing: Int?) throws {
        for batch in try world.claim(gates: [gate]) {
            try close(batch, batch.deviceIDs.indices.map { index in failing.map { index % $0 == 0 } ?? false ? 96 : 1 })
        }
    }

    private func close(_ batch: ClaimedBatch, _ outcomes: [UInt8]) throws {
        let tallies = Dictionary(outcomes.map { ($0, 1) }, uniquingKeysWith: +).map { outcome, deliveries in
            OutcomeTally(batchID: batch.id, outcome: outcome, deliveries: Int64(deliveries))
        }
        let record = BatchRecord(id: batch.id, leaseToken: batch.leaseToken, outcomes: outcomes)
        _ = try world.connection.run(CloseBatches(owner: 1, batches: [record], retries: [], tallies: tallies))
    }

    private func state(_ column: String) throws -> String? {
        try world.connection.text("SELECT \(column) FROM fanfare.runs ORDER BY id DESC LIMIT 1")
    }

    @Test func aShareGoesFirstAndTheOthersOnceItPassed() throws {
        let (canary, held) = try start(devices: 4000, canary: #"{"share": "10%", "wait": "10m"}"#)
        let first = try waiting(canary)
        #expect((320...480).contains(first), "a tenth, by hash")
        #expect(try first + waiting(held) == 4000)
        #expect(try state("planned") == "4000")
        #expect(try world.claim(gates: [canary, held], count: 0).isEmpty)
        try answer(canary, failing: nil)
        try world.schedule(at: "now()")
        #expect(try world.state(held) == "held", "the wait begins with its first answers")
        try world.schedule(at: "now() + interval '9 minutes'")
        #expect(try world.state(held) == "held")
        #expect(try world.claim(gates: [canary, held]).isEmpty)
        try world.schedule(at: "now() + interval '11 minutes'")
        #expect(try state("verdict") == "passed")
        #expect(try world.state(held) == "open")
        try answer(held, failing: 1)
        try world.schedule(at: "now() + interval '12 minutes'")
        #expect(try state("state") == "done", "failures of the others decide nothing any more")
        #expect(try world.state(canary) == "done" && world.state(held) == "done")
    }

    @Test func failuresPauseItUntilSomebodyDecides() throws {
        let (canary, held) = try start(
            devices: 2000,
            canary: #"{"share": "20%", "wait": "1m", "max_failed": "10%"}"#
        )
        try answer(canary, failing: 3)
        try world.schedule(at: "now()")
        try world.schedule(at: "now() + interval '2 minutes'")
        #expect(try state("verdict") == "failed")
        #expect(try world.state(held) == "held, paused")
        #expect(try world.campaign("sale", "state") == "paused")
        let alarm = try world.connection.text("SELECT detail FROM fanfare.alarms WHERE name = 'canary/shop/sale'")
        #expect(alarm?.contains("at most 10% may") == true)
        #expect(try world.connection.text("SELECT ok FROM fanfare.health WHERE name LIKE 'alarm: canary%'") == "f")
        #expect(try world.claim(gates: [canary, held]).isEmpty)
        try world.schedule(at: "now() + interval '1 day'")
        #expect(try world.state(held) == "held, paused", "it is judged once")

        _ = try world.connection.query("SELECT fanfare.resume_campaign('shop', 'sale')")
        #expect(try world.state(held) == "open")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.alarms") == 0)
        try answer(held, failing: nil)
        try world.schedule(at: "now()")
        #expect(try state("state") == "done")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.deliveries") == 2000, "nobody twice")
    }

    @Test func anOperatorsPauseIsNoVerdictAndAbortEndsBoth() throws {
        let (canary, held) = try start(devices: 300, canary: #"{"share": "50%", "wait": "1m"}"#)
        try answer(canary, failing: nil)
        try world.schedule(at: "now()")
        _ = try world.connection.query("SELECT fanfare.pause_campaign('shop', 'sale')")
        try world.schedule(at: "now() + interval '1 hour'")
        #expect(try state("verdict") == nil)
        _ = try world.connection.query("SELECT fanfare.resume_campaign('shop', 'sale')")
        #expect(try world.state(held) == "held", "the canary is still to be judged")
        _ = try world.connection.query("SELECT fanfare.abort_campaign('shop', 'sale')")
        for gate in [canary, held] { try world.sweep(gate) }
        try world.schedule(at: "now() + interval '1 hour'")
        #expect(try state("state") == "aborted")
        #expect(try state("verdict") == nil)
        let counts = try world.connection.column(
            "SELECT outcome || count(*) / 100 FROM fanfare.deliveries GROUP BY outcome ORDER BY outcome"
        )
        #expect(counts == ["accepted1", "cancelled1"])
    }

    @Test func theScheduleGoesOnAfterAFailedCanaryWasAborted() throws {
        // Half a day from now, so that the next 25 hours have it once at any time of the day.
        let hour = try world.connection.number("SELECT (extract(hour FROM now() AT TIME ZONE 'UTC')::int + 12) % 24")
        let (canary, held) = try start(
            devices: 300,
            canary: #"{"share": "50%", "wait": "1m"}, "schedule": {"cron": "0 \#(hour) * * *"}"#
        )
        try answer(canary, failing: 2)
        try world.schedule(at: "now()")
        try world.schedule(at: "now() + interval '2 minutes'")
        #expect(try world.campaign("sale", "state") == "paused")
        #expect(try world.connection.text("SELECT fanfare.abort_campaign('shop', 'sale')") == "t")
        for gate in [canary, held] { try world.sweep(gate) }
        try world.schedule(at: "now() + interval '3 minutes'")
        #expect(try state("state") == "aborted")
        #expect(try world.campaign("sale", "state") == "active")
        let fired = "SELECT count(*) FROM fanfare.runs"
        #expect(try world.connection.number(fired) == 1)
        try world.schedule(at: "now() + interval '25 hours'")
        #expect(try world.connection.number(fired) == 2)
    }

    @Test func whatSomebodyPausedStaysPausedWhenItIsAborted() throws {
        _ = try start(devices: 10, canary: #"{"share": "50%", "wait": "1m"}"#)
        _ = try world.connection.query("SELECT fanfare.pause_campaign('shop', 'sale')")
        try world.connection.execute("SET client_min_messages = notice")
        var notices: [String] = []
        world.connection.noticeHandler = { notices.append($0.message) }
        defer { world.connection.noticeHandler = nil }
        #expect(try world.connection.text("SELECT fanfare.abort_campaign('shop', 'sale')") == "t")
        #expect(try world.campaign("sale", "state") == "paused")
        #expect(notices == ["campaign sale stays paused"])
    }

    /// Fewer than 100 answers are judged only if no more will arrive.
    @Test func fewAnswersAreNotEnoughWhileMoreWillCome() throws {
        let (canary, held) = try start(devices: 1000, canary: #"{"share": "50%", "wait": "1m"}"#)
        #expect(try waiting(canary) > 400)
        let batch = try #require(try world.claim(gates: [canary], count: 1).first)
        try close(batch, Array(repeating: 96, count: batch.deviceIDs.count))
        try world.schedule(at: "now()")
        try world.schedule(at: "now() + interval '1 hour'")
        #expect(try state("verdict") == nil)
        try world.connection.execute("DELETE FROM fanfare.batches WHERE gate_id = \(canary)")
        try world.schedule(at: "now() + interval '1 hour'")
        #expect(try state("verdict") == "failed", "all of what there is are failures")
        #expect(try world.state(held) == "held, paused")
    }

    /// With local times many deliveries expire at once; they are not answers, and the wait starts with the first
    /// answer.
    @Test func whatIsLateAtOnceIsNoAnswer() throws {
        let (canary, held) = try start(devices: 1000, canary: #"{"share": "50%", "wait": "1m"}"#)
        for batch in try world.claim(gates: [canary], count: 4) {
            try close(batch, Array(repeating: Outcome.expired.rawValue, count: batch.deviceIDs.count))
        }
        try world.schedule(at: "now()")
        try answer(canary, failing: nil)
        try world.schedule(at: "now() + interval '1 hour'")
        #expect(try world.state(held) == "held")
        try world.schedule(at: "now() + interval '62 minutes'")
        #expect(try state("verdict") == "passed")
    }

    /// The audience is scanned twice: to count it, then to plan it.
    @Test func aboutANumberOfDevicesGoesFirst() throws {
        let (canary, held) = try start(devices: 4000, canary: #"{"devices": 200}"#)
        #expect(try (150...250).contains(waiting(canary)))
        #expect(try waiting(canary) + waiting(held) == 4000)
        #expect(try state("planned") == "4000", "what is counted is not planned")
    }

    @Test func moreDevicesThanThereAreAllGoFirst() throws {
        let (canary, held) = try start(devices: 30, canary: #"{"devices": 200, "wait": "1m"}"#)
        #expect(try waiting(canary) == 30)
        #expect(try waiting(held) == 0)
        try answer(canary, failing: nil)
        try world.schedule(at: "now()")
        #expect(try state("state") == "done", "nobody is left to wait for a verdict")
    }

    /// A dropped campaign cannot be resumed, so its deliveries are not held for ever.
    @Test func whatWasDroppedAndFailsIsAborted() throws {
        let (canary, held) = try start(devices: 300, canary: #"{"share": "50%", "wait": "1m"}"#)
        try answer(canary, failing: 2)
        try world.schedule(at: "now()")
        _ = try world.connection.query("SELECT fanfare.drop_campaign('shop', 'sale')")
        try world.schedule(at: "now() + interval '1 hour'")
        #expect(try world.state(held) == "aborting")
        try world.sweep(held)
        try world.schedule(at: "now() + interval '1 hour'")
        #expect(try state("state") == "aborted")
    }

    @Test func eachTimeOthersGoFirst() throws {
        let (first, held) = try start(devices: 1000, canary: #"{"share": "20%", "wait": "1s"}"#)
        let devices =
            "SELECT device_id FROM (SELECT unnest(device_ids) AS device_id FROM fanfare.batches WHERE gate_id = "
        let sample = Set(try world.connection.column(devices + "\(first)) AS d"))
        for gate in [first, held] { try answer(gate, failing: nil) }
        try world.schedule(at: "now()")
        try world.schedule(at: "now() + interval '1 minute'")
        try answer(held, failing: nil)
        try world.schedule(at: "now() + interval '1 minute'")
        _ = try world.connection.query("SELECT fanfare.start_campaign('shop', 'sale')")
        try world.plan()
        let second = try world.connection.number("SELECT gate_id FROM fanfare.runs ORDER BY id DESC LIMIT 1")
        let other = Set(try world.connection.column(devices + "\(second)) AS d"))
        #expect(sample.count > 150 && other.count > 150)
        #expect(sample.intersection(other).count < 100)
    }

    @Test(arguments: [
        (#"{"share": "0%"}"#, "canary.share: is not a share"), (#"{"share": "51%"}"#, "canary.share: is not a share"),
        (#"{"share": 1}"#, "canary.share: is not a share"), (#"{"share": "1"}"#, "canary.share: is not a share"),
        (#"{"devices": 0}"#, "canary.devices: is not a whole number"),
        (#"{"devices": 1.5}"#, "canary.devices: is not a whole number"),
        (#"{"share": "1%", "devices": 5}"#, "canary: has share and devices"),
        (#"{"wait": "1m"}"#, "canary: has neither share nor devices"),
        (#"{"share": "1%", "wait": "8d"}"#, "canary.wait: is not a duration"),
        (#"{"share": "1%", "wait": "0s"}"#, "canary.wait: is not a duration"),
        (#"{"share": "1%", "max_failed": "101%"}"#, "canary.max_failed: is not a share"),
        (#"{"share": "1%", "patience": "1m"}"#, "canary.patience: unknown key"),
    ])
    func whatCannotBeIsRefusedAlikeBySQLAndSwift(canary: String, problem: String) throws {
        let campaign = """
            {"app": "shop", "name": "c", "to": {"everyone": true}, "message": {"data": {"a": "b"}}, "canary": \(canary)}
            """
        let bySwift = #expect(throws: RuleProblem.self) { try CampaignDefinition(json: JSONValue(parsing: campaign)) }
        #expect(bySwift?.description.hasPrefix(problem) == true, "\(bySwift?.description ?? "it was taken")")
        let bySQL = world.connection.refusal("SELECT fanfare.put_campaign('\(campaign)')")
        #expect(bySQL?.message.hasPrefix(problem) == true, "\(bySQL?.message ?? "it was taken")")
    }

    @Test func itNeedsAnAudienceThatIsWalked() throws {
        let campaign =
            #"{"app": "shop", "name": "c", "to": {"users": "$.u"}, "message": {"data": {"a": "b"}}, "canary": {"share": "1%"}}"#
        let problem = #expect(throws: RuleProblem.self) { try CampaignDefinition(json: JSONValue(parsing: campaign)) }
        #expect(problem?.description.hasPrefix("canary: cannot be for this audience") == true)
        #expect(
            world.connection.refusal("SELECT fanfare.put_campaign('\(campaign)')")?.message
                == "canary: cannot be for this audience"
        )
    }
}
