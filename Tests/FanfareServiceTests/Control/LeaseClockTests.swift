import FanfareCore
import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The daemon's estimate of the database's time after that clock was set and before the lease is renewed.
@Suite(.database)
struct LeaseClockTests {
    @Test(arguments: [-3600, 3600])
    func aClaimTellsTheTime(step: Int64) throws {
        let world = try World()
        try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        let lease = LeaseState()
        let wrong = Clocks.wall - step * Micros.second
        lease.begin(owner: 1, startedAt: Clocks.steady, databaseNow: wrong)
        #expect(lease.databaseNow < wrong + 600 * Micros.second && lease.databaseNow >= wrong)
        let asked = Clocks.steady
        let batches = try world.claim()
        lease.claimed(batches, asked: asked)
        #expect(batches.count == 1)
        #expect(abs(lease.databaseNow - Clocks.wall) < 600 * Micros.second)
        let distance = try #require(lease.clockStep?.distance)
        #expect(abs(distance - step * Micros.second) < 600 * Micros.second)
    }
}
