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

/// The takeover of another daemon's batches.
@Suite(.database)
struct RescueTests {
    let world: World

    init() throws {
        world = try World()
    }

    private func enter(leaseMicroseconds: Int64) throws -> Int32 {
        let statement = EnterInstance(
            daemon: "d",
            host: "h",
            pid: 1,
            version: "v",
            leaseMicroseconds: leaseMicroseconds,
            schemaVersion: Schema.versions.upperBound
        )
        return try #require(try world.connection.run(statement).first).id
    }

    private func claimedBatch(by owner: Int32) throws {
        try world.device("aa10", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        #expect(try world.claim(owner: owner).count == 1)
    }

    private func renew(_ owner: Int32, on connection: PostgresConnection) throws {
        let renewal = RenewLease(owner: owner, leaseMicroseconds: LeaseGuard.length, leads: [], report: "{}")
        #expect(try connection.run(renewal).count == 1)
    }

    private func lease(of owner: Int32) throws -> Timestamp {
        let others = try world.connection.run(OtherInstances(owner: 0))
        #expect(others.map(\.id) == [owner])
        return try #require(others.first?.leaseUntil)
    }

    private var owners: [String?] {
        get throws { try world.connection.query("SELECT owner FROM fanfare.batches").rows.map { $0[0] } }
    }

    @Test func whoRenewedSinceTheLookKeepsItsBatches() throws {
        let late = try enter(leaseMicroseconds: -1)
        try claimedBatch(by: late)
        let lease = try lease(of: late)
        try renew(late, on: world.connection)
        #expect(try world.connection.run(Rescue(dead: late, unlessRenewed: lease)).isEmpty)
        #expect(try owners == ["\(late)"])
        #expect(try world.connection.run(Rescue(dead: late)) == [1], "its lock says that it is gone")
        #expect(try owners == [nil])
    }

    @Test func whoRenewsInTheSameMomentKeepsItsBatches() throws {
        let late = try enter(leaseMicroseconds: -1)
        try claimedBatch(by: late)
        let lease = try lease(of: late)
        let database = TestDatabase.current
        let freed = Mailbox<Int>()
        try world.connection.execute("BEGIN")
        try renew(late, on: world.connection)
        let thread = WorkerThread.start(name: "rescue") {
            let rescuer = try? database.connect()
            freed.put((try? rescuer?.run(Rescue(dead: late, unlessRenewed: lease)))?.count ?? -1)
        }
        try World(database).connection.waitUntil("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
        try world.connection.execute("COMMIT")
        thread.join()
        #expect(freed.take() == [0])
        #expect(try owners == ["\(late)"])
    }

    @Test func whoseLeaseIsOverLosesThem() throws {
        let late = try enter(leaseMicroseconds: -1)
        try claimedBatch(by: late)
        let lease = try lease(of: late)
        #expect(try world.connection.run(Rescue(dead: late, unlessRenewed: lease)) == [1])
        #expect(try owners == [nil])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.instances") == 0)
        #expect(try world.connection.run(Rescue(dead: late, unlessRenewed: lease)) == [0], "in no list it stays dead")
    }
}
