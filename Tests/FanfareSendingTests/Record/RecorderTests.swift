import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The recorder's writes for the results of deliveries.
@Suite(.database)
struct RecorderTests {
    let world: World

    init() throws {
        world = try World()
    }

    /// Plans, claims and prepares an event for the devices of one user.
    private func batch(devices count: Int, owner: Int32 = 1) throws -> (event: Int64, batch: PreparedBatch) {
        for n in 0..<count { try world.device("aa\(10 + n)", user: "u") }
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let event = try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        let prepared = try #require(try world.prepare(try world.claim(owner: owner), owner: owner).first)
        return (event, prepared.batch)
    }

    private func result(_ position: Int32, _ outcome: Outcome, _ followUp: FollowUp? = nil) -> DeliveryResult {
        DeliveryResult(position: position, outcome: outcome, followUp: followUp)
    }

    private func evidence(_ batch: PreparedBatch, _ position: Int, older by: Microseconds = 0) -> FollowUp {
        .prune(PruneEvidence(strength: .strong, registeredUpTo: batch.deliveries[position].registeredAt - by))
    }

    private func close(_ batch: PreparedBatch, _ results: [DeliveryResult]) {
        world.record([.opened(batch, decided: []), .results(batch.claimed.claim, results, slots: 0)])
    }

    @Test func aFinishedBatchMovesIntoTheLog() throws {
        let (event, batch) = try batch(devices: 3)
        let badTopic = try #require(APNsReason.badTopic.rejection)
        close(batch, [result(0, .accepted), result(2, badTopic), result(1, .unknown)])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.batches") == 0)
        #expect(try world.connection.text("SELECT outcomes FROM fanfare.batch_log") == "\\x010369")
        #expect(try world.outcomes(event) == ["accepted/accepted", "unknown/answer_lost", "rejected/BadTopic"])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.deliveries WHERE at IS NULL") == 0)
        let tallies = "SELECT outcome || '=' || deliveries FROM fanfare.stats_pending ORDER BY outcome"
        #expect(try world.connection.column(tallies) == ["1=1", "3=1", "105=1"])
        let range = "SELECT first_device || '-' || last_device FROM fanfare.batch_log"
        #expect(try world.connection.text(range) == "\(batch.claimed.deviceIDs[0])-\(batch.claimed.deviceIDs[2])")
    }

    @Test func retriesBecomeANewBatch() throws {
        let (event, batch) = try batch(devices: 4)
        let now = world.context.lease.databaseNow
        let history = RetryHistory(attempts: 1, waits: 1)
        let later = FollowUp.again(at: now + 30 * Micros.second, history: history, target: batch.target.id)
        let soon = FollowUp.again(at: now, history: RetryHistory(marks: .resent), target: batch.target.id)
        close(
            batch,
            [
                result(0, .retryingServerError, later), result(1, .accepted), result(2, .retryingServerError, later),
                result(3, .retryingAnswerLost, soon),
            ]
        )
        let rows = try world.connection.query(
            """
            SELECT device_ids, attempt, parent_id, event_id, history, round(extract(epoch FROM not_before - now()))
            FROM fanfare.batches ORDER BY not_before
            """
        ).rows
        let ids = batch.claimed.deviceIDs
        #expect(rows.map { $0[0] } == ["{\(ids[3])}", "{\(ids[0]),\(ids[2])}"])
        #expect(rows.map { $0[1] } == ["2", "2"])
        #expect(Set(rows.map { $0[2] }) == ["\(batch.claimed.id)"])
        #expect(Set(rows.map { $0[3] }) == ["\(event)"])
        #expect(rows.map { $0[4] } == ["\(RetryHistory(marks: .resent).encoded)", "\(history.encoded)"])
        #expect((28...32).contains(Int(rows[1][5]!)!))
        #expect(try world.claim().map(\.deviceIDs) == [[ids[3]]])
        #expect(
            try world.outcomes(event) == [
                "retrying/server_error", "pending/not_attempted", "accepted/accepted", "retrying/server_error",
                "pending/not_attempted", "retrying/answer_lost", "pending/not_attempted",
            ]
        )
    }

    /// A list of events shows how they ended, independent of the number of attempts.
    @Test func whatWasTriedManyTimesIsToldByItsEnd() throws {
        func ends(_ event: Int64) throws -> [String] {
            try world.connection.column(
                "SELECT outcome || ' ' || deliveries || ' ' || is_part FROM fanfare.event_ends(ARRAY[\(event)::bigint])"
            )
        }
        var (event, batch) = try batch(devices: 1)
        for _ in 0..<5 {
            let again = FollowUp.again(at: 0, history: RetryHistory(attempts: 1, waits: 1), target: batch.target.id)
            close(batch, [result(0, .retryingStatus503, again)])
            batch = try #require(try world.prepare(try world.claim()).first).batch
        }
        #expect(try ends(event) == ["pending 1 false"])
        close(batch, [result(0, .accepted)])
        #expect(try ends(event) == ["accepted 1 false"])
        event = try world.emit("e", #"{"u": "nobody"}"#)
        try world.plan()
        #expect(try ends(event) == ["not_reached 0 false"])
    }

    @Test func lateResultsOfAnEarlierClaimAreNotTheNextOnes() throws {
        let (event, first) = try batch(devices: 2)
        _ = try world.connection.run(Rescue(dead: 1))
        let second = try #require(try world.prepare(try world.claim(owner: 2, leaseToken: 2), owner: 2).first).batch
        let late = [result(0, .retryingAnswerLost), result(1, .retryingAnswerLost)]
        world.record([
            .opened(first, decided: []), .opened(second, decided: []),
            .results(second.claimed.claim, [result(0, .accepted)], slots: 0),
            .results(first.claimed.claim, late, slots: 0),
            .results(second.claimed.claim, [result(1, .accepted)], slots: 0),
        ])
        #expect(try world.outcomes(event) == ["accepted/accepted", "accepted/accepted"])
    }

    @Test func retriesOfMixedEventsKeepTheirEvents() throws {
        try world.device("aa10", user: "a")
        try world.device("aa11", user: "b")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let events = try ["a", "b"].map { try world.emit("e", #"{"u": "\#($0)"}"#) }
        try world.plan()
        let batch = try #require(try world.prepare(try world.claim()).first).batch
        let again = FollowUp.again(at: 0, history: .none, target: batch.target.id)
        close(batch, [result(0, .accepted), result(1, .retryingServerError, again)])
        #expect(try world.connection.column("SELECT event_ids FROM fanfare.batches") == ["{\(events[1])}"])
    }

    @Test func evidencePrunesTheTokenItIsAbout() throws {
        let (event, batch) = try batch(devices: 5)
        let ids = batch.claimed.deviceIDs
        try world.connection.execute(
            """
            SELECT fanfare.register_device('shop', 'apns', 'aa11', 'u');
            SELECT fanfare.register_device('shop', 'apns', 'bb12', 'u', replaces => 'aa12');
            """
        )
        // Another session has locked the fourth: a prune never blocks an application.
        let other = try TestDatabase.current.connect()
        try other.execute("BEGIN; UPDATE fanfare.devices SET locale = 'es' WHERE id = \(ids[3])")
        close(
            batch,
            (0..<5).map { result(Int32($0), .goneAPNSUnregistered, evidence(batch, $0, older: $0 == 4 ? 1 : 0)) }
        )
        try other.execute("COMMIT")
        let disabled = "SELECT id || ' ' || disabled_reason FROM fanfare.devices WHERE disabled_at IS NOT NULL"
        #expect(try world.connection.column(disabled) == ["\(ids[0]) Unregistered"])
        #expect(Set(try world.outcomes(event)) == ["gone/Unregistered"])
        #expect(world.counters.snapshot.devicesPruned == 1)
    }

    @Test func aTokenMovesToTheEnvironmentThatTookIt() throws {
        let (_, batch) = try batch(devices: 2)
        let sandbox = try #require(batch.otherTarget)
        let moved = RetryHistory(marks: .otherEnvironment)
        let again = FollowUp.again(at: 0, history: moved, target: sandbox)
        close(batch, [0, 1].map { result($0, .retryingOtherEnvironment, again) })
        let second = try #require(try world.prepare(try world.claim()).first).batch
        #expect(second.target.environment == "sandbox")
        #expect(second.deliveries.count == 2, "sent although the devices still say production")
        // The device was registered again meanwhile, for sandbox: the comparison fails, and no row changes.
        close(second, [result(0, .accepted, .moved), result(1, .apnsBadDeviceToken)])
        let environments = """
            SELECT t.environment FROM fanfare.devices AS d JOIN fanfare.targets AS t ON t.id = d.target_id ORDER BY d.id
            """
        #expect(try world.connection.column(environments) == ["sandbox", "production"])
        let enabled = "SELECT count(*) FROM fanfare.devices WHERE disabled_at IS NULL"
        #expect(try world.connection.number(enabled) == 2)
    }

    @Test func whoLostTheLeaseChangesNothing() throws {
        let (event, batch) = try batch(devices: 2)
        _ = try world.connection.run(Rescue(dead: 1))
        let again = FollowUp.again(at: 0, history: .none, target: batch.target.id)
        close(batch, [result(0, .goneAPNSUnregistered, evidence(batch, 0)), result(1, .retryingServerError, again)])
        #expect(try world.outcomes(event) == ["pending/not_attempted", "pending/not_attempted"])
        for table in ["batch_log", "stats_pending"] {
            #expect(try world.connection.number("SELECT count(*) FROM fanfare.\(table)") == 0)
        }
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.batches") == 1)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.devices WHERE disabled_at IS NOT NULL") == 0)
        #expect(world.counters.snapshot.batchesClosed == 0)
    }

    @Test func theOwnerAndTheTokenAreBothTheFence() throws {
        let (_, batch) = try batch(devices: 1)
        let id = batch.claimed.id
        let strangers: [(Int32, Int64)] = [(2, batch.claimed.leaseToken), (1, batch.claimed.leaseToken + 1)]
        for (owner, token) in strangers {
            let record = BatchRecord(id: id, leaseToken: token, outcomes: [1])
            #expect(try world.connection.run(Checkpoint(owner: owner, batches: [record])).isEmpty)
            #expect(try world.connection.runReturningCount(ReleaseBatches(owner: owner, batches: [record])) == 0)
            let close = CloseBatches(
                owner: owner,
                batches: [record],
                retries: [],
                tallies: []
            )
            #expect(try world.connection.run(close).isEmpty)
        }
        #expect(
            try world.connection.text("SELECT owner || ' ' || octet_length(outcomes) FROM fanfare.batches") == "1 0"
        )
    }

    @Test func whatIsInFlightIsCheckpointed() throws {
        let (event, batch) = try batch(devices: 3)
        world.record([.opened(batch, decided: []), .results(batch.claimed.claim, [result(1, .accepted)], slots: 0)])
        #expect(try world.outcomes(event) == ["pending/not_attempted", "accepted/accepted", "pending/not_attempted"])
        #expect(try world.connection.text("SELECT owner FROM fanfare.batches") == "1")
    }

    @Test func whatWasNotSentGoesBackToTheQueue() throws {
        let (event, batch) = try batch(devices: 3)
        let id = batch.claimed.claim
        world.record([
            .opened(batch, decided: []), .results(id, [result(1, .accepted)], slots: 0),
            .abandoned(id, unsent: [0, 2]),
        ])
        #expect(try world.connection.text("SELECT owner FROM fanfare.batches") == nil)
        let again = try #require(try world.prepare(try world.claim(owner: 2), owner: 2).first)
        #expect(again.batch.deliveries.map(\.position) == [0, 2])
        #expect(try world.outcomes(event)[1] == "accepted/accepted")
    }

    /// With two statements, the second could save results although the first had failed.
    @Test func whatIsGivenBackIsFollowedInTheSameStatement() throws {
        let (_, batch) = try batch(devices: 2)
        var ledger = RecordLedger()
        let gone = result(0, .goneAPNSUnregistered, evidence(batch, 0))
        for message: RecorderMessage in [
            .opened(batch, decided: []), .results(batch.claimed.claim, [gone], slots: 0),
            .abandoned(batch.claimed.claim, unsent: [1]),
        ] { ledger.take(message, at: 0) }
        let writes = ledger.begin(databaseNow: 0) { _ in }
        guard case .release(let statement, _)? = writes.first, writes.count == 1 else {
            Issue.record("\(writes.count) statements")
            return
        }
        #expect(try world.connection.run(statement).pruned.count == 1)
        _ = ledger.done(writes[0])
        #expect(!ledger.isDirty)
    }

    @Test func aRecordedRetryOfADeadDaemonIsMade() throws {
        let (_, batch) = try batch(devices: 3)
        let again = FollowUp.again(at: 0, history: .none, target: batch.target.id)
        let results = [result(0, .retryingServerError, again), result(1, .retryingDeviceThrottled, again)]
        world.record([.opened(batch, decided: []), .results(batch.claimed.claim, results, slots: 0)])
        _ = try world.connection.run(Rescue(dead: 1))
        let second = try #require(try world.prepare(try world.claim(owner: 2), owner: 2).first).batch
        #expect(second.deliveries.map(\.position) == [2])
        close(second, [result(2, .accepted)])
        let rows = try world.connection.query(
            "SELECT device_ids, not_before > now() + interval '50 s' FROM fanfare.batches ORDER BY not_before"
        ).rows
        #expect(rows == batch.claimed.deviceIDs.prefix(2).enumerated().map { ["{\($1)}", $0 == 0 ? "f" : "t"] })
    }

    @Test func evidenceIsFollowedWithTheCheckpointThatRecordsIt() throws {
        let (event, batch) = try batch(devices: 3)
        let gone = result(0, .goneAPNSUnregistered, evidence(batch, 0))
        world.record([.opened(batch, decided: []), .results(batch.claimed.claim, [gone], slots: 0)])
        let disabled = "SELECT id FROM fanfare.devices WHERE disabled_at IS NOT NULL"
        #expect(try world.connection.column(disabled) == ["\(batch.claimed.deviceIDs[0])"])
        #expect(world.counters.snapshot.devicesPruned == 1)
        // The daemon is killed here; the daemon that takes over the batch sees an outcome and no evidence.
        _ = try world.connection.run(Rescue(dead: 1))
        let second = try #require(try world.prepare(try world.claim(owner: 2), owner: 2).first).batch
        close(second, second.deliveries.map { result($0.position, .accepted) })
        #expect(Set(try world.outcomes(event)) == ["gone/Unregistered", "accepted/accepted"])
        #expect(try world.connection.column(disabled).count == 1)
    }

    @Test func evidenceThatIsWrittenIsNotFollowedAgain() throws {
        let (_, batch) = try batch(devices: 2)
        var open = OpenBatch(batch, decided: [])
        open.add([result(0, .goneAPNSUnregistered, evidence(batch, 0))])
        #expect(open.evidence.prunes.map(\.deviceID) == [batch.claimed.deviceIDs[0]])
        open.written()
        open.add([result(1, .goneAPNSUnregistered, evidence(batch, 1))])
        #expect(open.evidence.prunes.map(\.deviceID) == [batch.claimed.deviceIDs[1]])
    }

    @Test func evidenceIsFollowedWhenTheRestGoesBackToTheQueue() throws {
        let (event, batch) = try batch(devices: 2)
        let gone = result(1, .goneAPNSUnregistered, evidence(batch, 1))
        let id = batch.claimed.claim
        let slots = world.limits.budget.acquire(1, for: batch.share.key, lane: batch.lane)
        world.record([
            .opened(batch, decided: []), .results(id, [gone], slots: slots), .abandoned(id, unsent: [0]),
        ])
        #expect(slots == 1, "a slot of W that is given back twice traps")
        let disabled = "SELECT id FROM fanfare.devices WHERE disabled_at IS NOT NULL"
        #expect(try world.connection.column(disabled) == ["\(batch.claimed.deviceIDs[1])"])
        #expect(try world.connection.text("SELECT owner FROM fanfare.batches") == nil)
        #expect(try world.outcomes(event) == ["pending/not_attempted", "gone/Unregistered"])
    }

    @Test func outcomesOfTheWrongLengthAreRefused() throws {
        let (_, batch) = try batch(devices: 2)
        let record = BatchRecord(id: batch.claimed.id, leaseToken: batch.claimed.leaseToken, outcomes: [1])
        let error = #expect(throws: PostgresError.self) {
            try world.connection.run(Checkpoint(owner: 1, batches: [record]))
        }
        #expect(error?.constraint == "batches_lengths")
    }

    @Test func aBatchWithNothingToSendIsClosed() throws {
        try world.device("aa10", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let event = try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        _ = try world.connection.query("SELECT fanfare.unregister_device('shop', 'apns', 'aa10')")
        let prepared = try #require(try world.prepare(try world.claim()).first)
        world.record([.opened(prepared.batch, decided: prepared.decided)])
        #expect(try world.outcomes(event) == ["disabled/device_disabled"])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.batches") == 0)
    }
}
