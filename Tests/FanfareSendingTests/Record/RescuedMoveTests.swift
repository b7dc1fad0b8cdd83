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

/// The outcomes of deliveries that were to move to the other environment when their batch went back to the queue.
@Suite(.database)
struct RescuedMoveTests {
    private let world: World

    init() throws {
        world = try World()
        for token in ["aa10", "aa11"] { try world.device(token, user: "u") }
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
    }

    private func prepared(owner: Int32 = 1) throws -> BatchPreparer.Prepared {
        try #require(try world.prepare(try world.claim(owner: owner), owner: owner).first)
    }

    /// The provider named the other environment for the first of two devices; then the daemon was killed.
    private func refuseFirst() throws -> PreparedBatch {
        let first = try prepared().batch
        let code = Outcome.retryingOtherEnvironment.rawValue
        let written = BatchRecord(id: first.claimed.id, leaseToken: first.claimed.leaseToken, outcomes: [code, 0])
        _ = try world.connection.run(Checkpoint(owner: 1, batches: [written]))
        _ = try world.connection.run(Rescue(dead: 1))
        return first
    }

    /// Another daemon sends to the second device; the next claim is the first device's next attempt.
    private func nextAttempt() throws -> ClaimedBatch {
        let again = try prepared(owner: 2)
        #expect(again.batch.deliveries.map(\.token) == ["aa11"])
        let results = [DeliveryResult(position: 1, outcome: .accepted)]
        world.record([
            .opened(again.batch, decided: again.decided), .results(again.batch.claimed.claim, results, slots: 0),
        ])
        let next = try #require(try world.claim().first)
        #expect(next.deviceIDs == [again.batch.claimed.deviceIDs[0]])
        #expect(!next.queue.isRetry, "no budget holds it up")
        return next
    }

    @Test func theyGoThereAtOnce() throws {
        let other = try #require(try refuseFirst().otherTarget)
        let next = try nextAttempt()
        #expect(next.target == other && next.history.isMove)
    }

    /// A device that was registered since may have another token, about which no provider has answered.
    @Test func whoRegisteredSinceIsAskedForInItsOwnFirst() throws {
        let home = try refuseFirst().target.id
        try world.connection.execute(
            "UPDATE fanfare.devices SET registered_at = clock_timestamp() WHERE token = 'aa10'"
        )
        let next = try nextAttempt()
        #expect(next.target == home && next.history == .none)
    }

    /// Only a provider's answer is recorded as one, because in the other environment it is half of the evidence against
    /// a token.
    @Test func whoGoesElsewhereUnaskedStaysPendingUntilTheClose() throws {
        try world.device("aa10", user: "u", "environment => 'sandbox'")
        let first = try prepared()
        #expect(first.decided.map(\.outcome) == [.retryingOtherEnvironment])
        let claim = first.batch.claimed.claim
        world.record([.opened(first.batch, decided: first.decided), .abandoned(claim, unsent: [1])])
        #expect(try world.connection.text("SELECT outcomes FROM fanfare.batches WHERE owner IS NULL") == "\\x0000")
        let again = try prepared(owner: 2)
        #expect(again.decided.map(\.outcome) == [.retryingOtherEnvironment])
        let results = [DeliveryResult(position: 1, outcome: .accepted)]
        world.record([
            .opened(again.batch, decided: again.decided), .results(again.batch.claimed.claim, results, slots: 0),
        ])
        let next = try #require(try world.claim().first)
        #expect(next.target == again.batch.otherTarget && next.history == .none && !next.queue.isRetry)
        #expect(try world.connection.text("SELECT outcomes FROM fanfare.batch_log") == "\\x2c01")
    }
}
