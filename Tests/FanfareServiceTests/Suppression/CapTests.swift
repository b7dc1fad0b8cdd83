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

/// The maximum number of events per user and period.
@Suite(.database)
struct CapTests {
    private static let caps = #"{"caps": {"daily": {"max": 3, "per": "1d"}, "weekly": {"max": 4, "per": "7d"}}}"#
    private static let daily = #""caps": ["daily"]"#
    private static let users = #"{"users": "$.u"}"#

    /// Claims and prepares all due batches.
    ///
    /// - Returns: the tokens that are sent to, and `capped` for each delivery that is not.
    private func prepare(_ world: World) throws -> [String] {
        try world.plan()
        let prepared = try world.prepare(try world.claim())
        #expect(prepared.flatMap(\.decided).allSatisfy { $0.outcome == .capped })
        let capped = prepared.flatMap(\.decided).map { _ in "capped" }
        return prepared.flatMap(\.batch.deliveries).map(\.token).sorted() + capped
    }

    @Test func aUserGetsSoManyEventsOnAllDevices() throws {
        let world = try World()
        try world.put(policy: Self.caps)
        for (token, user) in [("aa10", "ann"), ("aa11", "ann"), ("aa12", "bob"), ("aa13", nil)] {
            try world.device(token, user: user)
        }
        try world.rule("one", event: "one", to: #"{"everyone": true}"#, Self.daily)
        try world.rule("two", event: "two", to: Self.users, Self.daily)
        try world.rule("free", event: "free", to: Self.users)
        // Two events of one user in one batch, for two devices each.
        for _ in 0..<2 { try world.emit("two", #"{"u": "ann"}"#) }
        #expect(try prepare(world) == ["aa10", "aa10", "aa11", "aa11"])
        try world.emit("one")
        #expect(try prepare(world) == ["aa10", "aa11", "aa12", "aa13"], "it is ann's third")
        try world.emit("one")
        #expect(try prepare(world) == ["aa12", "aa13", "capped", "capped"], "who is nobody is not counted")
        try world.emit("free", #"{"u": "ann"}"#)
        #expect(try prepare(world) == ["aa10", "aa11"])
        // The batch is claimed again; its grants exist already.
        try world.connection.execute("UPDATE fanfare.batches SET owner = NULL, lease_token = NULL")
        #expect(try prepare(world).filter { $0 == "capped" }.count == 2)
        #expect(
            try world.connection.column(
                "SELECT e > 0 FROM fanfare.cap_grants, unnest(grants) WITH ORDINALITY AS u (e, n) WHERE user_id = 'ann' AND n % 2 = 1"
            ) == ["t", "t", "t", "f"],
            "the fourth is remembered for her other device"
        )
    }

    /// A rate may delay the second device of a user for longer than the cap's period.
    @Test func whatOneDeviceGotOrNotTheOtherDoesAlike() throws {
        let world = try World()
        try world.put(policy: #"{"caps": {"one": {"max": 1, "per": "1m"}}}"#)
        for token in ["aa10", "aa11"] { try world.device(token, user: "ann") }
        let target = Int16(try world.connection.number("SELECT min(target_id) FROM fanfare.devices"))
        try world.connection.execute("UPDATE fanfare.caps SET since = '2026-01-01'")
        func take(_ event: Int64, atSecond second: Int64) throws -> Bool {
            let now = Timestamp(microseconds: 1_770_000_000_000_000 + second * 1_000_000)
            let take = TakeCaps(target: target, caps: ["one"], users: ["ann"], events: [event], now: now)
            return try world.connection.run(take) == ["ann"]
        }
        #expect(try take(1, atSecond: 0))
        #expect(try !take(2, atSecond: 32))
        #expect(try take(1, atSecond: 61), "it was granted, though it counts no more")
        #expect(try !take(2, atSecond: 65), "it was refused, though there is room")
        #expect(try take(3, atSecond: 66))
        #expect(try !take(4, atSecond: 67))
        for second in Int64(68)...400 { #expect(try !take(4 + second % 3 * 1000, atSecond: 67)) }
        let kept = "SELECT cardinality(grants) FROM fanfare.cap_grants"
        #expect(try world.connection.number(kept) <= 14, "each refusal once")
    }

    /// A grant is settled when its batch is closed.
    @Test func aGrantCountsFromTheSendingAndNotWhereNothingWasSent() throws {
        let world = try World()
        try world.put(policy: #"{"caps": {"one": {"max": 1, "per": "1h"}}}"#)
        let devices = try [("aa01", "ann"), ("aa02", "bob"), ("aa03", "eve")].map { try world.device($0, user: $1) }
        let other = try world.device("ccdd", user: "eve")
        try world.rule("one", event: "one", to: #"{"everyone": true}"#, #""caps": ["one"]"#)
        let event = try world.emit("one")
        try world.plan()
        let batch = try #require(try world.claim().first)
        #expect(try world.prepare([batch]).flatMap(\.batch.deliveries).count == 4)
        // Eve's second device received it, her first did not.
        let outcomes = batch.deviceIDs.map { [devices[0], other].contains($0) ? Outcome.accepted : .optedOut }
        let record = BatchRecord(id: batch.id, leaseToken: batch.leaseToken, outcomes: outcomes.map(\.rawValue))
        _ = try world.connection.run(CloseBatches(owner: 1, batches: [record], retries: [], tallies: []))
        let later: Int64 = 4_000_000_000_000
        let settle = SettleGrants(
            events: [event, event, event],
            devices: devices,
            sentAt: [later, nil, nil]
        )
        #expect(try world.connection.runReturningCount(settle) == 2)
        let grants =
            "SELECT user_id || ' ' || coalesce((grants[2] >> 16)::text, 'none') FROM fanfare.cap_grants ORDER BY 1"
        let seen = try world.connection.column(grants)
        #expect(seen[0] == "ann \(later)" && seen[1] == "bob none")
        #expect(seen[2] != "eve none", "another device of hers got it")
    }

    /// A daemon returns what it has not sent when the campaign is paused or the provider is unavailable.
    @Test(arguments: [["aa01"], ["aa01", "aa02"]]) func whatIsGivenBackUnsentIsNotCounted(tokens: [String]) throws {
        let world = try World()
        try world.put(policy: #"{"caps": {"one": {"max": 1, "per": "1h"}}}"#)
        for token in tokens { try world.device(token, user: "ann") }
        try world.rule("one", event: "one", to: Self.users, #""caps": ["one"]"#)
        let granted = "SELECT cardinality(grants) FROM fanfare.cap_grants"
        for _ in 0..<6 {
            try world.emit("one", #"{"u": "ann"}"#)
            try world.plan()
            let batch = try #require(try world.prepare(try world.claim()).first).batch
            #expect(try world.connection.number(granted) == 2)
            world.record([.opened(batch, decided: []), .givenBack(batch)])
            #expect(try world.connection.number(granted) == 0)
            #expect(try world.connection.number("SELECT count(*) FROM fanfare.batches WHERE owner IS NULL") == 1)
            try world.connection.execute("DELETE FROM fanfare.batches")
        }
    }

    /// A broadcast whose deliveries mostly ended without a request, to users with two devices each.
    @Test func usersOfSeveralDevicesHaveBackWhatNoneOfThemGot() throws {
        let world = try World()
        try world.put(policy: #"{"caps": {"one": {"max": 1, "per": "1h"}}}"#)
        let devices = try (0..<60).map { try world.device("aa\(10 + $0)", user: "u\($0 / 2)") }
        try world.rule("one", event: "one", to: #"{"everyone": true}"#, #""caps": ["one"]"#)
        let event = try world.emit("one")
        try world.plan()
        let batch = try #require(try world.prepare(try world.claim()).first).batch
        let results = devices.indices.map {
            DeliveryResult(position: Int32($0), outcome: $0 == 5 ? .accepted : .expired)
        }
        world.record([.opened(batch, decided: []), .results(batch.claimed.claim, results, slots: 0)])
        #expect(
            try world.connection.column("SELECT user_id FROM fanfare.cap_grants WHERE \(event) = ANY (grants)") == [
                "u2"
            ]
        )
    }

    /// Other events were granted while the retry waited.
    @Test func aRetryIsCountedAnew() throws {
        let world = try World()
        try world.put(policy: #"{"caps": {"one": {"max": 1, "per": "1m"}}}"#)
        try world.device("aa10", user: "ann")
        let target = Int16(try world.connection.number("SELECT min(target_id) FROM fanfare.devices"))
        try world.connection.execute("UPDATE fanfare.caps SET since = '2026-01-01'")
        func take(_ event: Int64, atSecond second: Int64, isRetry: Bool = false) throws -> Bool {
            let take = TakeCaps(
                target: target,
                caps: ["one"],
                users: ["ann"],
                events: [event],
                now: Timestamp(microseconds: 1_770_000_000_000_000 + second * 1_000_000),
                isRetry: isRetry
            )
            return try world.connection.run(take) == ["ann"]
        }
        #expect(try take(1, atSecond: 0))
        #expect(try take(1, atSecond: 30, isRetry: true), "it counts still")
        #expect(try take(2, atSecond: 62))
        #expect(try !take(1, atSecond: 66, isRetry: true))
        #expect(try take(1, atSecond: 130, isRetry: true), "there is room again")
        #expect(try !take(3, atSecond: 150), "it counts from then")
    }

    @Test func whatIsHeldOrDecidedOtherwiseIsNotCounted() throws {
        let world = try World()
        try world.put(policy: Self.caps)
        try world.device("aa10", user: "ann", "time_zone => 'UTC'")
        let now = try world.connection.text("SELECT to_char(now() AT TIME ZONE 'UTC' - interval '1 h', 'HH24:MI')")
        let soon = try world.connection.text("SELECT to_char(now() AT TIME ZONE 'UTC' + interval '1 h', 'HH24:MI')")
        let quiet = #""quiet_hours": {"from": "\#(now ?? "")", "until": "\#(soon ?? "")"}, "category": "c", "#
        try world.rule("quiet", event: "e", to: Self.users, quiet + Self.daily)
        try world.emit("e", #"{"u": "ann"}"#)
        try world.plan()
        #expect(try world.prepare(try world.claim()).flatMap(\.decided).map(\.outcome) == [.heldQuiet])
        try world.connection.execute("SELECT fanfare.set_preference('shop', 'ann', '*', true)")
        try world.emit("e", #"{"u": "ann"}"#)
        try world.plan()
        #expect(try world.prepare(try world.claim()).flatMap(\.decided).map(\.outcome) == [.optedOut])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.cap_grants") == 0)
    }

    /// The period is a sliding window: the N-th last grant decides.
    @Test func severalCapsAreJudgedTogetherAndInAnyWindow() throws {
        let world = try World()
        try world.put(policy: Self.caps)
        let device = try world.device("aa10", user: "ann")
        let target = Int16(
            try world.connection.number("SELECT target_id FROM fanfare.devices WHERE id = $1", String(device))
        )
        try world.connection.execute("UPDATE fanfare.caps SET since = '2026-01-01'")
        var events = 0
        func take(_ caps: [String], onDay day: Double, event: Int64? = nil) throws -> Bool {
            events += 1
            let take = TakeCaps(
                target: target,
                caps: caps,
                users: ["ann"],
                events: [event ?? Int64(events)],
                now: Timestamp(microseconds: 1_770_000_000_000_000 + Int64(day * 86_400_000_000))
            )
            return try world.connection.run(take) == ["ann"]
        }
        for day in [0, 0.5, 0.9] { #expect(try take(["daily"], onDay: day)) }
        #expect(try !take(["daily"], onDay: 0.99))
        #expect(try take(["daily"], onDay: 1.01), "the first is older than a day")
        #expect(try !take(["daily"], onDay: 1.02))
        #expect(try take(["daily"], onDay: 1.02, event: 3), "it was granted")
        #expect(try take(["weekly"], onDay: 1.03, event: 3), "and counts for the other now")
        for day in 2...4 { #expect(try take(["daily", "weekly"], onDay: Double(day))) }
        #expect(try !take(["daily", "weekly"], onDay: 5.5), "the week is full")
        #expect(try take(["daily"], onDay: 5.5), "so nothing was taken of the day")
        #expect(try take(["unknown"], onDay: 5.5))
        let kept = try world.connection.column(
            "SELECT e FROM fanfare.cap_grants, unnest(grants) WITH ORDINALITY AS u (e, n) WHERE n % 2 = 1"
        )
        #expect(kept == ["3", "9", "10", "11", "13"], "what no cap counts any more is gone")
    }

    @Test func whatNoCapCountsAnyMoreIsForgotten() throws {
        let world = try World()
        try world.connection.execute(
            """
            INSERT INTO fanfare.cap_grants SELECT 1, 'u' || days, ARRAY[1, stamp - (1 << 20), 2, stamp]
            FROM unnest('{30,32}'::int[]) AS days
            CROSS JOIN LATERAL (SELECT (extract(epoch FROM now() - make_interval(days => days)) * 1000)::bigint << 16 AS stamp) AS s
            """
        )
        var chores = world.chores()
        try chores.run(on: world.connection)
        #expect(try world.connection.column("SELECT user_id FROM fanfare.cap_grants") == ["u30"])
    }

    @Test func aNameThatIsGivenAgainCountsAnew() throws {
        let world = try World()
        let device = try world.device("aa10", user: "ann")
        let target = Int16(
            try world.connection.number("SELECT target_id FROM fanfare.devices WHERE id = $1", String(device))
        )
        func names(_ range: ClosedRange<Int>) -> String {
            #"{"caps": {"# + range.map { #""c\#($0)": {"max": 1, "per": "31d"}"# }.joined(separator: ", ") + "}}"
        }
        func take(_ cap: String, _ event: Int64) throws -> Bool {
            try !world.connection.run(TakeCaps(target: target, caps: [cap], users: ["ann"], events: [event])).isEmpty
        }
        try world.put(policy: names(1...16))
        #expect(try take("c1", 1))
        #expect(try !take("c1", 2))
        try world.put(policy: names(2...16))
        #expect(try take("c1", 3), "there is no such cap")
        try world.put(policy: names(1...16))
        #expect(try !take("c1", 4), "it has its bit still")
        try world.put(policy: names(2...17))
        #expect(try world.connection.text("SELECT bit FROM fanfare.caps WHERE name = 'c17'") == "0")
        #expect(try take("c17", 5))
        #expect(try !take("c17", 6))
    }

    /// Thirty-two emitters and three claimers: no user gets a fourth event, and no user with fewer is capped.
    @Test func threeDaemonsAndManyEmittersGrantExactlySoMany() async throws {
        var settings = StageSettings()
        // Small batches, so that the three claimers meet at the same users.
        settings.batchSize = 20
        let world = try World(settings: settings)
        try world.put(policy: Self.caps)
        try world.connection.execute(
            """
            SELECT fanfare.register_device('shop', 'apns', lpad(to_hex(u * 16 + d), 8, '0'), 'u' || u)
            FROM generate_series(1, 60) AS u, generate_series(1, 2) AS d
            """
        )
        try world.rule("some", event: "some", to: Self.users, Self.daily)
        try world.rule("all", event: "all", to: #"{"everyone": true}"#, #""caps": ["weekly", "daily"]"#)
        let database = TestDatabase.current
        try await withThrowingTaskGroup(of: Void.self) { group in
            for emitter in 0..<32 {
                group.addTask {
                    let connection = try database.connect()
                    // Users 1 to 50 are sent six or seven events in various orders; users 51 to 60 only the broadcast.
                    for n in 0..<10 {
                        let user = (emitter * 10 + n) % 50 + 1
                        _ = try connection.query(
                            "SELECT fanfare.emit('some', jsonb_build_object('u', 'u' || $1))",
                            "\(user)"
                        )
                    }
                    if emitter == 7 { try connection.execute("SELECT fanfare.emit('all')") }
                }
            }
            try await group.waitForAll()
        }
        try world.plan()
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.batches") > 30)
        let sent = Locked<[String: [String: Set<Int64>]]>([:])
        let capped = Locked(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for owner in 1...3 {
                group.addTask {
                    let own = try World(database)
                    let targets = try own.connection.run(SQL.allTargets())
                    while true {
                        let requests = targets.flatMap { target in
                            SendQueue.allCases.map {
                                BatchRequest(target: target.id, queue: $0, count: 1, floor: .minusInfinity)
                            }
                        }
                        let claimed = try own.connection.run(
                            ClaimBatches(requests: requests, owner: Int32(owner), leaseToken: 1)
                        )
                        guard !claimed.isEmpty else { return }
                        for one in try own.prepare(claimed, owner: Int32(owner)) {
                            capped.withLock { $0 += one.decided.count { $0.outcome == .capped } }
                            for delivery in one.batch.deliveries {
                                let event = one.batch.claimed.eventID(at: Int(delivery.position))
                                sent.withLock {
                                    _ = $0["\(delivery.token.prefix(7))", default: [:]][delivery.token, default: []]
                                        .insert(
                                            event
                                        )
                                }
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let all = sent.withLock { $0 }
        #expect(all.count == 60)
        for (user, devices) in all {
            let counts = Set(devices.values.map(\.count))
            let number = try #require(Int(user, radix: 16))
            #expect(counts == [number > 50 ? 1 : 3], "user \(number)")
            #expect(Set(devices.values.map { $0 }).count == 1, "all devices get the same")
        }
        // Of 320 events for one user each and one for all, 50 users get three each, on two devices.
        #expect(capped.withLock { $0 } == (320 + 50 - 150) * 2)
    }
}
