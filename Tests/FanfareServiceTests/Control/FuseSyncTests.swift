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

/// The synchronization of two daemons' prune fuses through the database.
@Suite(.database)
struct FuseSyncTests {
    private static let key = FuseKey(app: "shop", environment: "production")
    let (a, b): (World, World)

    init() throws {
        (a, b) = (try World(), try World())
        try a.device("aa10")
    }

    private func synchronize(_ worlds: World...) throws {
        for world in worlds { try world.fuseSync.synchronize(on: world.connection) }
    }

    private func judge(_ worlds: World...) throws {
        for world in worlds { try world.fuseSync.judge(on: world.connection) }
    }

    private func allows(_ world: World) -> Bool { world.limits.fuses.allowsPruning(of: Self.key) }

    /// Reports answers of all daemons: the number accepted, and the number gone for a reason.
    private func answer(accepted: Int, gone: Int, _ strength: PruneEvidence.Strength, from provider: String = "apns")
        throws
    {
        var counts = PruneCounts(answers: accepted + gone)
        if strength == .weak { counts.weak = gone } else { counts.strong = gone }
        let source = AnswerSource(key: Self.key, provider: provider)
        _ = try a.connection.runReturningCount(ShareAnswers(counts: [source: counts]))
    }

    @Test func whatBlowsInOneHoldsForAll() throws {
        a.limits.fuses.record(PruneCounts(answers: 1000, strong: 251), from: "apns", of: Self.key)
        #expect(!allows(a) && allows(b))
        try synchronize(a, b)
        #expect(!allows(b))
        #expect(b.limits.fuses.blown == [Self.key])
        let late = try World()
        try synchronize(late)
        #expect(!allows(late), "one that starts later too")
        #expect(late.limits.fuses.allowsPruning(of: FuseKey(app: "shop", environment: "sandbox")))
    }

    @Test(arguments: [(PruneEvidence.Strength.weak, 21), (.strong, 251)])
    func answersOfAllDaemonsAreJudgedTogether(strength: PruneEvidence.Strength, gone: Int) throws {
        try answer(accepted: 1000 - gone, gone: gone - 1, strength)
        try judge(a, b)
        #expect(allows(a) && allows(b))
        try answer(accepted: 0, gone: 1, strength)
        try judge(a, b)
        #expect(!allows(a) && !allows(b))
        let stored = try a.connection.run(SQL.storedFuses())
        #expect(stored == [StoredFuse(key: Self.key, blownBy: strength, closedAt: nil)])
        #expect(try a.connection.column("SELECT name FROM fanfare.alarms") == ["prune_fuse/shop/production"])
    }

    @Test func manyGoodAnswersOfOneProviderDoNotHideAnothersBadOnes() throws {
        try answer(accepted: 100_000, gone: 0, .strong, from: "fcm")
        a.limits.fuses.record(PruneCounts(answers: 100_000), from: "fcm", of: Self.key)
        try answer(accepted: 979, gone: 21, .weak)
        try judge(b)
        #expect(!allows(b))
        a.limits.fuses.record(PruneCounts(answers: 1000, weak: 21), from: "apns", of: Self.key)
        #expect(!allows(a))
    }

    @Test func fewAnswersOfEachProviderAreJudgedTogether() throws {
        a.limits.fuses.record(PruneCounts(answers: 500, strong: 150), from: "fcm", of: Self.key)
        #expect(allows(a))
        a.limits.fuses.record(PruneCounts(answers: 500, strong: 150), from: "apns", of: Self.key)
        #expect(!allows(a))
    }

    @Test func afterItWasClosedAllCountAnew() throws {
        try answer(accepted: 700, gone: 300, .strong)
        a.limits.fuses.record(PruneCounts(answers: 1000, strong: 300), from: "apns", of: Self.key)
        b.limits.fuses.record(PruneCounts(answers: 999, strong: 300), from: "apns", of: Self.key)
        try synchronize(a, b)
        #expect(!allows(a) && !allows(b))
        #expect(try a.connection.run(SQL.closeFuses("shop", nil)) == ["production"])
        try judge(a, b)
        #expect(allows(a) && allows(b), "what was answered before no longer counts")
        #expect(try a.connection.number("SELECT count(*) FROM fanfare.alarms") == 0)
        b.limits.fuses.record(PruneCounts(answers: 999, strong: 999), from: "apns", of: Self.key)
        #expect(allows(b))
        b.limits.fuses.record(PruneCounts(answers: 1, strong: 1), from: "apns", of: Self.key)
        try synchronize(b, a)
        #expect(!allows(a), "and it blows again if nothing was mended")
    }

    @Test func whatTheOtherEnvironmentSaysIsAboutDevicesOfTheirOwn() throws {
        for n in 10..<13 { try a.device("aa\(n)", user: "u") }
        try a.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try a.emit("e", #"{"u": "u"}"#)
        try a.plan()
        let first = try #require(try a.prepare(try a.claim()).first).batch
        #expect(first.homeEnvironment == "production")
        let sandbox = try #require(first.otherTarget)
        let again = FollowUp.again(at: 0, history: RetryHistory(marks: .otherEnvironment), target: sandbox)
        let results = first.deliveries.map {
            DeliveryResult(position: $0.position, outcome: .retryingOtherEnvironment, followUp: again)
        }
        a.record([.opened(first, decided: []), .results(first.claimed.claim, results, slots: 0)])
        let second = try #require(try a.prepare(try a.claim()).first).batch
        #expect(second.target.environment == "sandbox" && second.homeEnvironment == "production")
        a.limits.fuses.record(PruneCounts(answers: 1000, weak: 18), from: "apns", of: Self.key)
        let gone = second.deliveries.map { delivery in
            let evidence = PruneEvidence(strength: .weak, registeredUpTo: delivery.registeredAt)
            return DeliveryResult(
                position: delivery.position,
                outcome: .goneAPNSBadDeviceToken,
                followUp: .prune(evidence)
            )
        }
        a.record([.opened(second, decided: []), .results(second.claimed.claim, gone, slots: 0)])
        #expect(a.limits.fuses.blown == [Self.key])
        #expect(try a.connection.number("SELECT count(*) FROM fanfare.devices WHERE disabled_at IS NOT NULL") == 0)
    }

    @Test func aBatchThatKeepsItsDevicesSaysSoInItsOutcomes() throws {
        for n in 10..<13 { try a.device("aa\(n)", user: "u") }
        try a.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try a.emit("e", #"{"u": "u"}"#)
        try a.plan()
        let batch = try #require(try a.prepare(try a.claim()).first).batch
        var open = OpenBatch(batch, decided: [])
        open.add(
            batch.deliveries.map { delivery in
                let evidence = PruneEvidence(strength: .strong, registeredUpTo: delivery.registeredAt)
                return DeliveryResult(
                    position: delivery.position,
                    outcome: .goneAPNSUnregistered,
                    followUp: .prune(evidence)
                )
            }
        )
        #expect(open.takeUncounted() == PruneCounts(answers: 3, strong: 3))
        #expect(open.takeUncounted() == PruneCounts(), "each answer counts once")
        #expect(open.evidence.prunes.count == 3)
        open.keepDevices()
        #expect(open.evidence == TokenEvidence())
        #expect(Set(open.record.outcomes) == [APNsReason.unregistered.rejection?.rawValue])
    }
}
