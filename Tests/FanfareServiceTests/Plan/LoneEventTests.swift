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

/// Batches that a planning round claims itself.
@Suite(.database)
struct LoneEventTests {
    let world: World

    init() throws {
        world = try World()
    }

    /// Plans the outbox, and claims for owner 7 in the given lanes.
    private func round(_ lanes: [Lane] = Lane.allCases) throws -> PlanRoundSummary {
        let places = try world.connection.run(SQL.allTargets()).flatMap { target in
            lanes.map { LoneClaim.Place(target: target.id, lane: $0) }
        }
        var statement = PlanRound(floor: OutboxFloor(), limit: 10, batchSize: 2)
        statement.claim = LoneClaim(owner: 7, leaseToken: 70, places: places, beganAt: 0)
        return PlanRoundSummary(try world.connection.run(statement))
    }

    private func claimed() throws -> Int64 {
        try world.connection.number("SELECT count(*) FROM fanfare.batches WHERE owner = 7 AND lease_token = 70")
    }

    @Test func itIsReadAsTheClaimerWouldReadIt() throws {
        for n in 0..<3 { try world.device("aa\(10 + n)", user: "u", n == 1 ? "locale => 'de_CH'" : "") }
        try world.device("bb", user: "u", "environment => 'sandbox'")
        // The keys of RFC 8291, section 5.
        _ = try world.connection.query(
            """
            SELECT fanfare.register_device('shop', 'webpush', 'https://updates.push.services.mozilla.com/wpush/v2/a', 'u',
                p256dh => 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
                auth => 'BTBZMqHH6r4Tts7J_aSIgg')
            """
        )
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#, #""lane": "transactional""#)
        let payload = #"{"u": "u", "text": "\"quoted\" – \n😀", "number": 12345678901234567890.50}"#
        let id = try world.emit("e", payload, key: "k \"1\"", ttl: "1 hour 0.5 seconds")
        let round = try round()
        #expect(round.taken == 1 && round.batches == 4 && round.lone.count == 4)
        #expect(try claimed() == 4)
        let lone = round.lone.compactMap(\.self).sorted { $0.claimed.id < $1.claimed.id }
        // After a release, the second claim returns the same values.
        let claim = DoubtfulClaim(owner: 7, leaseToken: 70)
        #expect(try world.connection.runReturningCount(ReleaseClaims(claims: [claim])) == 4)
        let theirs = try world.claim(owner: 7, leaseToken: 70).sorted { $0.id < $1.id }
        #expect(lone.map { $0.claimed.forComparison } == theirs.map(\.forComparison))
        for (mine, batch) in zip(lone, theirs) {
            let rows = try world.connection.run(FetchDevices(deviceIDs: batch.deviceIDs))
            let devices = DeviceRow.align(rows, to: batch.deviceIDs)
            #expect(mine.devices.map { "\($0)" } == devices.map { "\($0)" })
        }
        let event = try #require(
            try world.connection.run(FetchEvents(day: Int16(EventID(rawValue: id).ringDay), eventIDs: [id])).first
        )
        for mine in lone.map(\.event) {
            #expect(mine.id == id && mine.type == "e" && mine.key == event.key && mine.payload == event.payload)
            #expect(mine.createdAt == event.createdAt && mine.ttl == event.ttl && !mine.isCancelled)
            #expect(abs(mine.plannedAt.microseconds - event.plannedAt.microseconds) < Micros.minute)
        }
    }

    @Test func ofTwoEventsNoneIsClaimed() throws {
        try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        for _ in 0..<2 { try world.emit("e", #"{"u": "u"}"#) }
        let round = try round()
        #expect(round.taken == 2 && round.batches == 1 && round.lone.isEmpty)
        #expect(try claimed() == 0)
        #expect(try world.claim().count == 1)
    }

    @Test func whereThereIsNoRoomItIsTheClaimers() throws {
        try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#, #""lane": "transactional""#)
        try world.rule("s", event: "e", to: #"{"users": "$.u"}"#)
        try world.emit("e", #"{"u": "u"}"#)
        let round = try round([.normal])
        #expect(round.batches == 2 && round.lone.map { $0?.claimed.lane } == [Lane.normal.rawValue])
        #expect(try claimed() == 1)
        #expect(try world.claim().map(\.lane) == [Lane.transactional.rawValue])
    }

    @Test func aTimeWithoutEndIsLeftToTheClaimer() throws {
        try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.connection.execute("UPDATE fanfare.devices SET registered_at = 'infinity'")
        try world.emit("e", #"{"u": "u"}"#)
        let round = try round()
        #expect(round.lone.count == 1 && round.lone.compactMap(\.self).isEmpty)
    }
}

extension ClaimedBatch {
    /// All values except the time, which only the claimer's floors use.
    fileprivate var forComparison: ClaimedBatch {
        ClaimedBatch(
            id: id,
            leaseToken: leaseToken,
            target: target,
            queue: queue,
            gate: gate,
            ruleVersion: ruleVersion,
            attempt: attempt,
            history: history,
            eventID: eventID,
            eventIDs: eventIDs,
            deviceIDs: deviceIDs,
            outcomes: outcomes,
            notBefore: .minusInfinity,
            dueAt: dueAt,
            claimedAt: .minusInfinity
        )
    }
}
