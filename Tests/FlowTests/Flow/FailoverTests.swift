import FanfareCore
import PostgresClient
import PrivateCluster
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// A standby without the primary's last transactions takes over: their events are lost, and their ids are assigned
/// again.
@Suite(.flowSandbox, .databaseOnOwnServer, .serialized, .timeLimit(.minutes(5)))
struct FailoverTests {
    private static let lost = 60

    @Test func noEventGetsAnothersIdentity() async throws {
        let database = TestDatabase.current
        let before = try Flow.idle()
        try await before.adopt(as: before.configuration().installation)
        try await before.sql { world in
            try world.device("fa11", user: "u")
            _ = try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        }
        let standby = try await onThread("standby") { try database.cluster.startStandby() }
        let url = standby.connectionURL(database: database.name)
        defer { standby.stop(.immediate) }
        let both = DatabaseURL(FailedOver.url(of: [database.cluster, standby], database: database.name))
        let lines = try await Flow.run({ $0.database.url = both }) { flow in
            try await flow.until("SELECT count(*) = 1 FROM pg_stat_replication WHERE replay_lsn = pg_current_wal_lsn()")
            try await Self.sql(url) { connection in
                try connection.execute("ALTER SYSTEM SET primary_conninfo = ''")
                try connection.execute("SELECT pg_reload_conf()")
                try connection.waitUntil("SELECT NOT EXISTS (SELECT FROM pg_stat_wal_receiver)")
            }
            let gone = Set(try await flow.sql { world in try Self.emit(Self.lost, on: world.connection) })
            #expect(try await flow.pushes(Self.lost, to: "fa11").count == Self.lost)

            try await onThread("crash") { database.cluster.suspend(.immediate) }
            // The application connects before the daemon, and its first events get ids that were assigned before.
            let early = try await Self.sql(url) { connection in
                try connection.execute("SELECT pg_promote()")
                return try Self.emit(5, on: connection)
            }
            try await Self.sql(url) { connection in
                try connection.waitUntil("SELECT count(*) = 2 FROM fanfare.timelines")
            }
            let late = try await Self.sql(url) { connection in try Self.emit(Self.lost, on: connection) }
            #expect(gone.isDisjoint(with: late), "ids skipped ahead")
            let pushes = try await flow.pushes(Self.lost + early.count + late.count, to: "fa11")
            let ids = pushes.compactMap { $0.headers["apns-id"] }
            #expect(ids.count == pushes.count && Set(ids).count == ids.count)
        }
        let said = lines.filter { $0.contains("the server is on a new timeline, as after a failover") }
        #expect(said.count == 1)
    }

    private static func emit(_ count: Int, on connection: PostgresConnection) throws -> [Int64] {
        try (0..<count).map { _ in try connection.number(#"SELECT fanfare.emit('e', '{"u": "u"}')"#) }
    }

    private static func sql<Value: Sendable>(
        _ url: String,
        _ body: @escaping @Sendable (PostgresConnection) throws -> Value
    ) async throws -> Value {
        try await onThread("standby") { try body(.open(PostgresOptions(url: url))) }
    }
}
