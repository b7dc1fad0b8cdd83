import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Claims under the rates of apps and providers.
@Suite(.database)
struct AppRateTests {
    let world: World

    init() throws {
        world = try World()
    }

    /// Two apps with rates, one of them also for a provider, and three owners that claim at simulated times with some
    /// delay.
    ///
    /// No rate is exceeded in any second, and each app can use its full rate at the same time.
    @Test func eachAppAndProviderKeepsToItsOwnRateAndHasAllOfIt() throws {
        try world.devices(1, of: "u")
        try world.devices(700, of: "u", provider: "fcm")
        try world.devices(700, of: "u")
        try world.devices(700, of: "u", app: "other")
        for app in ["shop", "other"] {
            let rule =
                #"{"app": "\#(app)", "name": "r", "event": "e", "to": {"users": "$.u"}, "message": {"data": {"a": "b"}}}"#
            _ = try world.connection.query("SELECT fanfare.put_rule($1::jsonb)", rule)
        }
        try RuleChecker(logger: world.context.logger).check(on: world.connection)
        try world.put(policy: #"{"rate": "100/s", "providers": {"fcm": {"rate": "40/s"}}}"#)
        try world.put(policy: #"{"rate": "50/s"}"#, app: "other")
        #expect(world.orders.replace(rates: try world.connection.run(SQL.liveRates()), quiet: []))
        try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        try world.connection.execute(
            "UPDATE fanfare.batches SET not_before = '2025-12-01'; UPDATE fanfare.rates SET next_free = '2026-01-01'"
        )
        #expect(try world.claim().isEmpty == false, "who knows no rates would take all of it")
        try world.connection.execute("UPDATE fanfare.batches SET owner = NULL, lease_token = NULL")
        let list = try world.batchRequests()
        #expect(list.places.allSatisfy { $0.lane == .transactional }, "the others are not claimed without rates")
        let paces = Set(list.paces.values).sorted()
        let targets = Dictionary(uniqueKeysWithValues: list.targets.map { ($0.id, $0) })
        var claims: [(at: Double, app: String, provider: String, deliveries: Int)] = []
        var next = Dictionary(uniqueKeysWithValues: paces.map { ($0, 60.0) })
        var generator = SeededGenerator(seed: 11)
        while let (pace, now) = next.min(by: { ($0.value, $0.key) < ($1.value, $1.key) }), now < 66 {
            let claim = try world.claim(pace, of: list, at: now, owner: .random(in: 1...3, using: &generator))
            for batch in claim.batches {
                let target = try #require(targets[batch.target])
                claims.append((now, target.app, target.provider, batch.deviceIDs.count))
            }
            next[pace] = now + max(claim.wait ?? 100, 0.001) + .random(in: 0...0.05, using: &generator)
        }
        for (app, provider, rate) in [("shop", nil, 100), ("shop", "fcm", 40), ("other", nil, 50)]
            as [(String, String?, Int)]
        {
            let mine = claims.filter { $0.app == app && (provider == nil || $0.provider == provider) }
            for claim in mine {
                let second = mine.filter { $0.at >= claim.at && $0.at < claim.at + 1 }.reduce(0) { $0 + $1.deliveries }
                #expect(Double(second) <= 1.2 * Double(rate), "\(app) \(provider ?? "") from \(claim.at)")
            }
            guard provider == nil else { continue }
            let mean = Double(mine.reduce(0) { $0 + $1.deliveries }) / 6
            #expect(abs(mean / Double(rate) - 1) < 0.06, "\(app) has \(mean) a second")
        }
        #expect(claims.contains { $0.provider == "fcm" })
    }

    /// A batch holds what the rate allows in a tenth of a second, except in the transactional lane.
    @Test func batchesAreCutToThem() throws {
        try world.devices(60, of: "u")
        try world.devices(60, of: "u", provider: "fcm")
        try world.connection.execute("SELECT fanfare.subscribe(id, 'news') FROM fanfare.devices")
        try world.put(policy: #"{"rate": "300/s", "providers": {"fcm": {"rate": "100/s"}}}"#)
        #expect(world.orders.replace(rates: try world.connection.run(SQL.liveRates()), quiet: []))
        try world.rule("users", event: "a", to: #"{"users": "$.u"}"#)
        try world.rule("topic", event: "b", to: #"{"topic": "news"}"#)
        try world.rule("slices", event: "c", to: #"{"everyone": true}"#)
        try world.rule("now", event: "d", to: #"{"users": "$.u"}"#, #""lane": "transactional""#)
        let sizes = """
            SELECT string_agg(t.provider || ' ' || s.most, ', ' ORDER BY t.provider) FROM (
                SELECT target_id, max(cardinality(device_ids)) AS most FROM fanfare.batches GROUP BY 1) AS s
            JOIN fanfare.targets AS t ON t.id = s.target_id
            """
        for (event, expected) in [
            ("a", "apns 30, fcm 10"), ("b", "apns 30, fcm 10"), ("c", "apns 30, fcm 10"), ("d", "apns 60, fcm 60"),
        ] {
            try world.emit(event, #"{"u": "u"}"#)
            try world.plan()
            #expect(try world.connection.text(sizes) == expected, "\(event)")
            try world.connection.execute("DELETE FROM fanfare.batches")
        }
    }

    /// With a campaign's rate and its app's, both are charged, and both are refunded for deliveries without a request.
    @Test func aGatesRateAndItsAppsHoldTogether() throws {
        let gate = try world.pace(batches: 40, of: 5, perSecond: 50)
        try world.put(policy: #"{"rate": "20/s"}"#)
        try world.connection.execute("UPDATE fanfare.rates SET next_free = '2026-01-01'")
        let rates = try world.connection.run(SQL.liveRates()).map(\.id)
        let list = try world.batchRequests(gates: [Gate(id: gate, app: "shop", lane: .bulk, isPaced: true)])
        let pace = Pace(gate: gate, lane: .bulk, rates: rates)
        #expect(Set(list.paces.values).contains(pace))
        let sizes: (Double) throws -> [Int] = { now in
            try world.claim(pace, of: list, at: now).batches.map(\.deviceIDs.count)
        }
        // A batch of a quarter of a second at the app's rate is claimed as soon as a tenth is free.
        #expect(try sizes(60) == [5])
        #expect(try sizes(60.1).isEmpty)
        #expect(try sizes(60.16) == [5])
        let charged =
            "SELECT string_agg(round(extract(epoch FROM next_free - '2026-01-01') * 1000)::text, ' ' ORDER BY id) FROM fanfare.rates"
        let before = try #require(try world.connection.text(charged)).split(separator: " ").compactMap { Int($0) }
        #expect(try world.connection.runReturningCount(RefundRate(gate: gate, rates: rates, deliveries: 5)) == 2)
        let after = try #require(try world.connection.text(charged)).split(separator: " ").compactMap { Int($0) }
        #expect(zip(before, after).map { $0 - $1 } == [100, 250])
        try world.setGates("paced", "pause")
        #expect(try sizes(90).isEmpty, "its gate is closed")
        try world.setGates("paced", "resume")
        try world.put(policy: "{}")
        #expect(
            try sizes(90) == [5, 5],
            "what the daemon has not heard of yet, that the app's is gone, holds up nothing of the gate"
        )
    }

    @Test func whatAppsHaveNoneIsClaimedAsBefore() throws {
        try world.devices(2, of: "u")
        try world.devices(2, of: "u", app: "other")
        try world.put(policy: #"{"providers": {"fcm": {"rate": "40/s"}}}"#, app: "other")
        let gates = [Gate(id: 7, app: "shop", lane: nil), Gate(id: 8, app: "other", lane: .bulk, isPaced: true)]
        let list = try world.batchRequests(gates: gates)
        let targets = Dictionary(uniqueKeysWithValues: list.targets.map { ($0.id, $0.app) })
        #expect(list.places.count == 18, "each lane of both in two environments, and behind the gate of one")
        #expect(Set(list.paces.values) == [Pace(gate: 8, lane: .bulk, rates: [])])
        #expect(list.paces.keys.allSatisfy { targets[$0.target] == "other" })
    }

    /// The batch is overdue, but only because of the rate.
    @Test func whatWaitsForARateIsNoFinding() throws {
        try world.devices(2, of: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        try world.connection.execute("UPDATE fanfare.batches SET not_before = now() - interval '1 h'")
        let standing = { try world.connection.run(SQL.standingBatches(60 * Micros.second)).count }
        #expect(try standing() == 1)
        try world.put(policy: #"{"rate": "5/s"}"#)
        #expect(try standing() == 0)
        try world.put(policy: #"{"providers": {"fcm": {"rate": "5/s"}}}"#)
        #expect(try standing() == 1)
    }
}
