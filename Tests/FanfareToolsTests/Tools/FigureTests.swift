import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareRecords
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// The metrics that are read from the database.
@Suite(.database)
struct FigureTests {
    let world: World

    init() throws {
        world = try World()
        try world.device("aa01", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
    }

    /// Inserts a batch with the given columns as SQL, due the given number of seconds ago.
    private func batch(_ seconds: Int, lane: Lane = .transactional, _ columns: [String: String] = [:]) throws {
        let more = columns.sorted { $0.key < $1.key }
        try world.connection.execute(
            """
            INSERT INTO fanfare.batches (event_id, rule_version, target_id, lane, device_ids, created_at, not_before
                \(more.map { ", \($0.key)" }.joined()))
            SELECT 1, 1, t.id, \(lane.rawValue), '{1}', now() - interval '1 day', now() - \(seconds) * interval '1 second'
                \(more.map { ", \($0.value)" }.joined())
            FROM fanfare.targets AS t WHERE t.provider = 'apns' AND t.environment = 'production'
            """
        )
    }

    /// Returns the age of the oldest ready batch by lane, in whole minutes.
    private func minutes() throws -> [Lane: Int] {
        let rows = try world.connection.run(SQL.readyAges()).filter { $0.environment == "production" }
        #expect(rows.allSatisfy { $0.app == "shop" && $0.provider == "apns" } && rows.count == 3)
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.lane, Int($0.seconds / 60)) })
    }

    @Test func onlyWhatCouldBeSentNowIsReady() throws {
        let nothing: [Lane: Int] = [.transactional: 0, .normal: 0, .bulk: 0]
        #expect(try minutes() == nothing)
        let paced = try world.gate("r")
        try world.connection.execute(
            """
            WITH made AS (INSERT INTO fanfare.rates (rule_id, per_second) SELECT id, 1 FROM fanfare.rules WHERE name = 'r' RETURNING id)
            UPDATE fanfare.gates SET rate_id = made.id FROM made WHERE gates.id = \(paced)
            """
        )
        // Batches that are held for quiet hours, have an owner, or are behind a gate with a rate or a missing one.
        try batch(-3600)
        try batch(7200, ["owner": "1", "lease_token": "1"])
        try batch(7200, ["gate_id": "\(paced)"])
        try batch(7200, lane: .bulk, ["gate_id": "\(paced + 7)"])
        #expect(try minutes() == nothing)
        try batch(300)
        try batch(600, ["is_retry": "true"])
        try batch(900, lane: .normal)
        #expect(try minutes() == [.transactional: 10, .normal: 15, .bulk: 0])
        // When the gate has no rate, its batches are ready; when it is paused, they are not.
        try world.connection.execute("UPDATE fanfare.gates SET rate_id = NULL")
        #expect(try minutes()[.transactional] == 120)
        try world.setGates("r", "pause")
        #expect(try minutes()[.transactional] == 10)
    }

    @Test func campaignsThatAreOverAreNotTold() throws {
        #expect(try world.connection.run(SQL.listLiveCampaigns()).isEmpty)
        for name in ["a", "b", "c"] { try world.put(campaign: name) }
        try world.schedule()
        func told() throws -> [[Int64]] {
            try world.connection.run(SQL.listLiveCampaigns()).map { row in
                #expect(row.app == "shop")
                return [row.querying, row.running, row.held, row.aborting, row.remaining]
            }
        }
        #expect(try told() == [[0, 0, 0, 0, 0]])
        for name in ["a", "b", "c"] { try world.start(name) }
        try world.schedule()
        try world.plan()
        #expect(try told() == [[0, 3, 0, 0, 3]])
        _ = try world.tell("a", "pause")
        #expect(try told() == [[0, 2, 1, 0, 3]])
        _ = try world.tell("b", "abort")
        #expect(try told() == [[0, 1, 1, 1, 3]])
        try world.connection.execute(
            "UPDATE fanfare.runs SET state = 'querying', event_id = NULL WHERE state = 'aborting'"
        )
        #expect(try told() == [[1, 1, 1, 0, 2]])
        try world.connection.execute(
            "UPDATE fanfare.runs SET state = CASE WHEN event_id IS NULL THEN 'failed' ELSE 'done' END, ended_at = now()"
        )
        #expect(try told() == [[0, 0, 0, 0, 0]])
    }
}
