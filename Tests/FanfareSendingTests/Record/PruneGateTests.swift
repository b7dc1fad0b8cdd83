import FanfareCore
import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The number of devices that daemons disable stays within the fuses, even if answers are many and fast.
@Suite(.database)
struct PruneGateTests {
    private static let key = FuseKey(app: "shop", environment: "production")
    private static let strongLimit = PruneFuse.leastAnswers * PruneFuse.strongPercent / 100
    let (a, b): (World, World)

    init() throws {
        (a, b) = (try World(), try World())
        try a.rule("r", event: "e", to: #"{"users": "$.u"}"#)
    }

    /// Claims a batch for the given number of new devices.
    private func batch(devices count: Int, user: String = "u", owner: Int32 = 1) throws -> PreparedBatch {
        try a.devices(count, user: user)
        return try again(user: user, owner: owner)
    }

    /// Claims another batch for a user's devices.
    private func again(user: String = "u", owner: Int32 = 1) throws -> PreparedBatch {
        try a.emit("e", #"{"u": "\#(user)"}"#)
        try a.plan()
        return try #require(try a.prepare(try a.claim(owner: owner), owner: owner).first).batch
    }

    /// The recorder messages for a batch whose tokens the provider reports as unregistered.
    private func allGone(_ batch: PreparedBatch, _ strength: PruneEvidence.Strength = .strong) -> [RecorderMessage] {
        let results = batch.deliveries.map { delivery in
            let evidence = PruneEvidence(strength: strength, registeredUpTo: delivery.registeredAt)
            let outcome = strength == .weak ? Outcome.goneAPNSBadDeviceToken : .goneAPNSUnregistered
            return DeliveryResult(position: delivery.position, outcome: outcome, followUp: .prune(evidence))
        }
        return [.opened(batch, decided: []), .results(batch.claimed.claim, results, slots: 0)]
    }

    private func allAccepted(_ batch: PreparedBatch) -> [RecorderMessage] {
        let results = batch.deliveries.map { DeliveryResult(position: $0.position, outcome: .accepted) }
        return [.opened(batch, decided: []), .results(batch.claimed.claim, results, slots: 0)]
    }

    private var disabled: Int {
        get throws {
            Int(try a.connection.number("SELECT count(*) FROM fanfare.devices WHERE disabled_at IS NOT NULL"))
        }
    }

    @Test(arguments: [(PruneEvidence.Strength.strong, strongLimit), (.weak, PruneFuse.alwaysFollowed)])
    func oneCheckpointDisablesNoMoreThanTheFuseAllows(strength: PruneEvidence.Strength, limit: Int) throws {
        a.record(allGone(try batch(devices: 900), strength))
        #expect(try disabled == limit)
        let outcomes = "SELECT outcome || '=' || count(*) FROM fanfare.deliveries GROUP BY outcome ORDER BY outcome"
        #expect(try a.connection.column(outcomes) == ["gone=\(limit)", "rejected=\(900 - limit)"])
        #expect(a.limits.fuses.blown.isEmpty, "fewer than 1,000 answers are too few to judge")
        a.record(allGone(try again(), strength))
        #expect(a.limits.fuses.blown == [Self.key])
        #expect(try disabled == limit)
    }

    @Test func severalDaemonsTogetherDisableNoMore() throws {
        let batches = try (0..<6).map { try batch(devices: 300, user: "u\($0)", owner: Int32($0)) }
        let worlds = try [a, b] + (2..<6).map { _ in try World() }
        let threads = zip(worlds, batches).map { world, batch in
            let mailbox = Mailbox<RecorderMessage>()
            for message in allGone(batch) { _ = mailbox.put(message) }
            mailbox.close()
            let recorder = world.recorder(of: mailbox)
            return WorkerThread.start(name: "daemon") { recorder.run() }
        }
        for thread in threads { thread.join() }
        #expect(try disabled <= Self.strongLimit)
        #expect(try a.connection.number("SELECT count(*) FROM fanfare.batches") == 0)
        try a.fuseSync.judge(on: a.connection)
        #expect(a.limits.fuses.blown == [Self.key])
    }

    @Test func whatWasKeptIsDisabledWhenGoodAnswersShowThatTheEvidenceIsRight() throws {
        a.record(allGone(try batch(devices: 300)))
        #expect(try disabled == Self.strongLimit)
        for n in 0..<2 { b.record(allAccepted(try batch(devices: 1000, user: "good\(n)"))) }
        a.record(allGone(try again()))
        #expect(try disabled == Self.strongLimit, "what daemon b was answered is not known yet")
        let good = AnswerSource(key: Self.key, provider: "apns")
        _ = try b.connection.runReturningCount(ShareAnswers(counts: [good: PruneCounts(answers: 2000)]))
        a.record(allGone(try again()))
        #expect(try disabled == 300)
        #expect(a.limits.fuses.blown.isEmpty)
    }

    @Test func evidenceWaitsUntilTheOthersCanBeAsked() throws {
        let batch = try batch(devices: 3)
        try a.connection.execute("ALTER TABLE fanfare.prune_counts RENAME TO away")
        var ledger = RecordLedger()
        for message in allGone(batch) { ledger.take(message, at: 0) }
        let session = Session(a.context.database.queue("test"), of: a.context, stop: StopSignal())
        var gate = PruneGate(a.limits.fuses)
        #expect(!gate.judge(&ledger, over: session))
        try a.connection.execute("ALTER TABLE fanfare.away RENAME TO prune_counts")
        #expect(gate.judge(&ledger, over: session))
        #expect(try a.connection.column("SELECT answers || ',' || strong FROM fanfare.prune_counts") == ["3,3"])
        session.close()
    }

    @Test func countingBeginsAnewInTheMomentAFuseIsClosed() throws {
        let source = AnswerSource(key: Self.key, provider: "apns")
        func share(_ counts: PruneCounts) throws -> PruneCounts? {
            _ = try a.connection.runReturningCount(ShareAnswers(counts: [source: counts]))
            return try a.connection.answers(of: ["shop"])[source]
        }
        try a.device("aa10")
        #expect(try share(PruneCounts(answers: 9, weak: 1, strong: 2)) == PruneCounts(answers: 9, weak: 1, strong: 2))
        #expect(try share(PruneCounts(answers: 1)) == PruneCounts(answers: 10, weak: 1, strong: 2))
        _ = try a.connection.runReturningCount(BlowFuse(key: Self.key, strength: .strong))
        #expect(try a.connection.run(SQL.closeFuses("shop", nil)) == ["production"])
        #expect(try a.connection.answers(of: nil).isEmpty)
        #expect(try share(PruneCounts(answers: 5, strong: 5)) == PruneCounts(answers: 5, strong: 5))
    }

    @Test func evidenceOfAllProvidersTogetherIsBoundedToo() {
        let sources = ["apns", "fcm"].map { AnswerSource(key: Self.key, provider: $0) }
        let fresh = Dictionary(uniqueKeysWithValues: sources.map { ($0, PruneCounts(answers: 200, strong: 200)) })
        var allowances = PruneAllowances(sums: fresh, fresh: fresh)
        let taken = sources.flatMap { source in (0..<200).filter { _ in allowances.take(.strong, from: source) } }
        #expect(taken.count == Self.strongLimit)
        let weak = allowances.take(.weak, from: sources[0])
        #expect(!weak, "there was no such evidence")
    }
}
