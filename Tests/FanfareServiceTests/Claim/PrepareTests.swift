import FanfareCore
import PostgresClient
import PushTransport
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The decisions about deliveries just before they are sent.
@Suite(.database)
struct PrepareTests {
    let world: World

    init() throws {
        world = try World()
    }

    private func prepared() throws -> (batch: PreparedBatch, decided: [Outcome]) {
        let one = try #require(try world.prepare(try world.claim()).first)
        return (one.batch, one.decided.map(\.outcome))
    }

    @Test func devicesAreLookedAtWhenTheyAreSentTo() throws {
        let ids = try (0..<4).map { try world.device("aa\(10 + $0)", user: "u") }
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let event = try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        try world.connection.execute(
            """
            SELECT fanfare.unregister_device('shop', 'apns', 'aa10');
            DELETE FROM fanfare.devices WHERE token = 'aa11';
            SELECT fanfare.register_device('shop', 'apns', 'aa12', 'someone else');
            SELECT fanfare.register_device('shop', 'apns', 'ccdd', 'u', replaces => 'aa13');
            """
        )
        let (batch, decided) = try prepared()
        #expect(decided == [.disabled, .disabled, .disabled])
        #expect(batch.deliveries.map(\.token) == ["ccdd"], "a rotated token is the new one")
        let paths = batch.deliveries.map { delivery in
            if case .shared(let path, _) = delivery.address { String(decoding: path, as: UTF8.self) } else { "" }
        }
        #expect(paths == ["/3/device/ccdd"])
        #expect(batch.claimed.eventID == event)
        #expect(batch.claimed.deviceIDs == ids)
    }

    @Test func aDeviceThatMovedGoesToItsOwnEnvironment() throws {
        try world.device("aa10", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        try world.device("aa10", user: "u", "environment => 'sandbox'")
        let one = try #require(try world.prepare(try world.claim()).first)
        let result = try #require(one.decided.first)
        #expect(result.outcome == .retryingOtherEnvironment)
        guard case .again(_, _, let target)? = result.followUp else {
            Issue.record("no second attempt")
            return
        }
        #expect(world.catalog.targets.all[target]?.environment == "sandbox")
        #expect(one.batch.deliveries.isEmpty)
    }

    @Test func aTokenRotatedBetweenTheEnvironmentsIsTriedInItsOwnFirst() throws {
        for token in ["aa10", "bb10"] { try world.device(token, user: "u") }
        let home = try #require(try world.connection.text("SELECT DISTINCT target_id FROM fanfare.devices"))
        try world.device("cc10", user: "other", "environment => 'sandbox'")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        func retried(after history: RetryHistory) throws -> BatchPreparer.Prepared {
            try world.connection.execute(
                """
                UPDATE fanfare.batches SET attempt = 2, history = \(history.encoded), owner = NULL, lease_token = NULL,
                    target_id = (SELECT target_id FROM fanfare.devices WHERE token = 'cc10')
                """
            )
            return try #require(try world.prepare(try world.claim()).first)
        }
        try world.connection.execute("SELECT fanfare.register_device('shop', 'apns', 'dd10', 'u', replaces => 'aa10')")
        let one = try retried(after: RetryHistory(attempts: 1, marks: .otherEnvironment))
        #expect(one.batch.deliveries.map(\.token) == ["bb10"])
        #expect(one.decided.map(\.outcome) == [.retryingOtherEnvironment])
        guard case .again(_, let history, let target)? = one.decided.first?.followUp else {
            Issue.record("no attempt in its own environment")
            return
        }
        #expect(String(target) == home)
        #expect(history == RetryHistory(attempts: 1, marks: .registeredLater))
        // The provider refuses the token in its own environment too, so the other environment is tried next.
        let marks: RetryHistory.Marks = [.otherEnvironment, .registeredLater]
        let again = try retried(after: RetryHistory(attempts: 2, marks: marks))
        #expect(Set(again.batch.deliveries.map(\.token)) == ["dd10", "bb10"] && again.decided.isEmpty)
    }

    @Test func anEventPastItsTimeIsNotSent() throws {
        try world.device("aa10", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.rule("short", event: "short", to: #"{"users": "$.u"}"#, #""ttl": "1h""#)
        let events = try [("e", nil), ("e", "1 h"), ("short", nil), ("e", "3 h")].map {
            try world.emit($0.0, #"{"u": "u"}"#, ttl: $0.1)
        }
        try world.plan()
        let past = "UPDATE fanfare.event_log SET created_at = created_at - $2::interval WHERE id = $1"
        for (event, age) in zip(events, ["25 h", "2 h", "2 h", "2 h"]) {
            _ = try world.connection.query(past, "\(event)", age)
        }
        var outcomes: [Int64: Outcome] = [:]
        for one in try world.prepare(try world.claim()) {
            for result in one.decided { outcomes[one.batch.claimed.eventID(at: Int(result.position))] = result.outcome }
        }
        #expect(outcomes == [events[0]: .exhausted, events[1]: .expired, events[2]: .expired])
    }

    @Test func aRetryEndsWithTheTimeThatItsMessageGives() throws {
        try world.device("aa10", user: "u", "kind => 'voip'")
        let message = #""message": {"apns": {"payload": {"aps": {}, "call": "c"}}}"#
        try world.rule("r", event: "e", to: #"{"users": "$.u", "kind": "voip"}"#, message)
        try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        try world.connection.execute("UPDATE fanfare.event_log SET created_at = created_at - interval '50 s'")
        let first = try prepared().batch
        let now = world.context.lease.databaseNow
        #expect(first.variants[0].push[header: "apns-expiration"] == "0")
        #expect(ActiveBatch(first).decision(first.deliveries[0], now: now) == nil, "its turn may come late")
        _ = try world.connection.run(Rescue(dead: 1))
        let waited = RetryHistory(attempts: 1, waits: 1).encoded
        try world.connection.execute("UPDATE fanfare.batches SET attempt = 2, history = \(waited)")
        let second = try prepared().batch
        #expect(ActiveBatch(second).decision(second.deliveries[0], now: now) == .expired)
    }

    @Test func whatIsCancelledIsNotSent() throws {
        try world.device("aa10", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let byID = try world.emit("e", #"{"u": "u"}"#)
        try world.emit("e", #"{"u": "u"}"#, key: "k")
        let kept = try world.emit("e", #"{"u": "u"}"#, key: "other")
        try world.plan()
        _ = try world.connection.query("SELECT fanfare.cancel($1::bigint), fanfare.cancel('e', 'k')", "\(byID)")
        #expect(world.orders.cancels.count == 0, "whoever fetches an event sees what was cancelled before")
        let (batch, decided) = try prepared()
        #expect(decided == [.cancelled, .cancelled])
        #expect(batch.deliveries.map { batch.claimed.eventID(at: Int($0.position)) } == [kept])
    }

    @Test func whatIsCancelledAfterItWasPreparedIsNotSent() throws {
        try world.device("aa10", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.emit("e", #"{"u": "u"}"#, key: "k")
        try world.plan()
        let seen = try #require(try world.connection.run(NewCancels(since: nil)).first?.seen)
        let (batch, decided) = try prepared()
        #expect(decided.isEmpty)
        let delivery = try #require(batch.deliveries.first)
        let active = ActiveBatch(batch)
        active.refresh(world.orders.cancels)
        #expect(active.decision(delivery, now: 0) == nil)
        try world.connection.execute("SELECT fanfare.cancel('e', 'k')")
        world.orders.cancels.add(try world.connection.run(NewCancels(since: seen)).compactMap(\.fact))
        active.refresh(world.orders.cancels)
        #expect(active.decision(delivery, now: 0) == .cancelled)
    }

    @Test func anEventIsSupersededByANewerOneWithTheSameCollapseAndUserOnly() throws {
        for user in ["ann", "bob"] { try world.device(user == "ann" ? "aa10" : "bb10", user: user) }
        let more = #""supersede": true, "collapse": "order-{{id}}""#
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#, more)
        let old = try world.emit("e", #"{"u": "ann", "id": 1}"#)
        let others = try [
            world.emit("e", #"{"u": "ann", "id": 2}"#), world.emit("e", #"{"u": "bob", "id": 1}"#),
            world.emit("e", #"{"u": "ann", "id": 1}"#),
        ]
        try world.plan()
        let (batch, decided) = try prepared()
        #expect(decided == [.superseded])
        #expect(batch.deliveries.map { batch.claimed.eventID(at: Int($0.position)) }.sorted() == others)
        #expect(!others.contains(old))
    }

    @Test func oneVariantForEachLocale() throws {
        for (n, locale) in ["NULL", "'es-MX'", "'es'", "'fr'", "'ES'"].enumerated() {
            try world.device("aa\(10 + n)", user: "u", "locale => \(locale)")
        }
        let more = #""locales": {"es": {"notification": {"title": "Pedido"}}}"#
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#, more)
        try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        let batch = try prepared().batch
        let titles = batch.deliveries.map { delivery in
            String(decoding: batch.variants[Int(delivery.variant)].content.body.prefix, as: UTF8.self).contains(
                "Pedido"
            )
        }
        #expect(titles == [false, true, true, false, true])
        #expect(batch.variants.count == 2)
    }

    @Test func devicesAndUsersInTemplatesAreRenderedEach() throws {
        for user in ["ann", "bob"] { try world.device(user == "ann" ? "aa10" : "bb10", user: user) }
        let message = #""message": {"notification": {"title": "Hi {{user.id}}"}}"#
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#, message)
        try world.emit("e", #"{"u": ["ann", "bob"]}"#)
        try world.plan()
        let batch = try prepared().batch
        let bodies = batch.variants.map { String(decoding: $0.content.body.prefix, as: UTF8.self) }
        #expect(bodies.count == 2)
        #expect(bodies.contains { $0.contains("Hi ann") })
        #expect(bodies.contains { $0.contains("Hi bob") })
    }

    @Test func aMissingNameRefusesTheDeliveriesOfThatEventOnly() throws {
        try world.device("aa10", user: "u")
        let message = #""message": {"notification": {"title": "Order {{order}}"}}"#
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#, message)
        try world.emit("e", #"{"u": "u"}"#)
        let good = try world.emit("e", #"{"u": "u", "order": 7}"#)
        try world.plan()
        let (batch, decided) = try prepared()
        #expect(decided == [.refused])
        #expect(batch.deliveries.map { batch.claimed.eventID(at: Int($0.position)) } == [good])
    }

    /// PostgreSQL keeps both keys, because their bytes differ.
    @Test func aPayloadMayHaveKeysThatDifferInTheirNormalFormOnly() throws {
        try world.device("aa", user: "u")
        try world.rule(
            "r",
            event: "e",
            to: #"{"users": "$.u"}"#,
            #""message": {"notification": {"title": "{{name}}"}}"#
        )
        try world.emit("e", "{\"u\": \"u\", \"name\": \"n\", \"\u{E9}\": 1, \"e\u{301}\": 2}")
        try world.plan()
        let (batch, decided) = try prepared()
        #expect(batch.deliveries.count == 1 && decided.isEmpty)
    }

    @Test func aRepeatedDeliveryKeepsItsIdentity() throws {
        let device = try world.device("aa10", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        let first = try prepared().batch
        _ = try world.connection.run(Rescue(dead: 1))
        let second = try prepared().batch
        #expect(first.claimed.deviceIDs == [device])
        #expect(first.deliveries[0].deliveryID == second.deliveries[0].deliveryID)
        #expect(first.deliveries[0].deliveryID.count == 36)
    }
}

struct EventTimeToLiveTests {
    @Test(
        arguments: [
            (nil, nil), (1.5, 1_500_000), (0, 0), (-1, 0), (-Double.infinity, 0),
            (Double.infinity, 315_360_000_000_000),
            (Double.nan, 315_360_000_000_000), (1e300, 315_360_000_000_000), (315_360_000, 315_360_000_000_000),
        ] as [(Double?, Microseconds?)]
    )
    func isBounded(seconds: Double?, expected: Microseconds?) {
        let event = EventRow(
            id: 1,
            type: "e",
            key: nil,
            createdAt: Timestamp(microseconds: 0),
            plannedAt: Timestamp(microseconds: 0),
            ttlSeconds: seconds,
            payload: "{}",
            isCancelled: false
        )
        #expect(event.ttl == expected)
        #expect(event.renderContext(ttl: event.ttl, now: 0).expiration == expected.map { $0 / Micros.second })
    }
}
