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
@testable import FanfareTools

/// An old primary that was restarted beside the new one, with applications writing to both.
@Suite(.flowSandbox, .databaseOnOwnServer, .serialized, .timeLimit(.minutes(5)))
struct SplitBrainTests {
    @Test func aDaemonThatStartsSendsWhatTheNewPrimaryHas() async throws {
        let database = TestDatabase.current
        let before = try Flow.idle()
        try await before.adopt(as: before.configuration().installation)
        try await before.sql { world in
            try world.device("5b11", user: "u")
            _ = try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        }
        let standby = try await onThread("standby") { try database.cluster.startStandby() }
        defer { standby.stop(.immediate) }
        try await before.until(
            "SELECT count(*) = 1 FROM pg_stat_replication WHERE replay_lsn = pg_current_wal_lsn()"
        )
        let both = try await onThread("failover") { try FailedOver(from: database.cluster, to: standby) }
        let url = FailedOver.url(of: [both.old, both.new], database: database.name)
        try await emit(5, to: both.old)
        try await emit(2, to: both.new)
        let lines = try await Flow.run({ $0.database.url = DatabaseURL(url) }) { flow in
            try await untilSent(2, from: both.new)
            // The new primary is repeatedly unreachable, and the old one answers.
            for round in 1...6 {
                try await onThread("outage") { both.new.suspend(.fast) }
                try await emit(1, to: both.old)
                try await onThread("outage") { try both.new.resume() }
                try await emit(1, to: both.new)
                try await untilSent(2 + round, from: both.new)
            }
            _ = try await flow.pushes(8, to: "5b11")
        }
        let counts = "SELECT (SELECT count(*) FROM fanfare.outbox), (SELECT count(*) FROM fanfare.instances)"
        let left = try await sql(on: both.old) { connection in try connection.query(counts).rows }
        #expect(left == [["11", "0"]], "the daemon took nothing from the old primary, and never was there")
        let said = lines.filter { $0.contains("an old primary takes writes beside the new one, which is used") }
        #expect(said.count == 1 && said[0].contains("\(both.old.directory), port 5432 is on timeline 1"), "\(lines)")
        let check = await Checkup(try toolConfiguration(url: url), environment: [:]).items(online: false)
        let item = check.first { $0.name == "servers" }
        #expect(item?.level == .fail && item?.detail.contains("two servers take writes") == true)
    }

    private func emit(_ count: Int, to server: PrivateCluster) async throws {
        try await sql(on: server) { connection in
            for _ in 0..<count { try connection.execute(#"SELECT fanfare.emit('e', '{"u": "u"}')"#) }
        }
    }

    private func untilSent(_ count: Int, from server: PrivateCluster) async throws {
        let sent = "SELECT count(DISTINCT event_id) = \(count) FROM fanfare.deliveries WHERE outcome = 'accepted'"
        try await sql(on: server) { connection in try connection.waitUntil(sent, seconds: 180) }
    }

    private func sql<Value: Sendable>(
        on server: PrivateCluster,
        _ body: @escaping @Sendable (PostgresConnection) throws -> Value
    ) async throws -> Value {
        let url = server.connectionURL(database: TestDatabase.current.name)
        return try await onThread("sql") { try body(.open(PostgresOptions(url: url))) }
    }
}
