import FanfareCore
import FanfareMetrics
import Logging
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The daemons' counts of events and pushes, stored for charts.
@Suite(.database)
struct TrafficTallyTests {
    let world: World
    private let apns = Target(id: 1, app: "shop", provider: "apns", environment: "production")

    init() throws {
        world = try World()
        try world.device("aa10")
    }

    private func write(_ daemon: World, on connection: PostgresConnection? = nil) throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        try daemon.figures.traffic.write(on: connection ?? daemon.connection, logger: logger)
    }

    private func written() throws -> [String] {
        try world.connection.column(
            """
            SELECT concat_ws(' ', t.what, coalesce(d.provider, '-'), t.lane, t.code, sum(t.count))
            FROM fanfare.traffic AS t LEFT JOIN fanfare.targets AS d ON d.id = t.target_id
            GROUP BY t.what, d.provider, t.lane, t.code ORDER BY t.what, t.lane, t.code
            """
        ).compactMap(\.self)
    }

    @Test func whatCameSinceTheLastTimeIsAdded() throws {
        world.counters.ended([1: 3, 6: 1])
        let times = world.counters.acceptances(of: apns, .bulk)
        for seconds in [0.04, 0.05, 4000] { times.observe(seconds) }
        try write(world)
        let first = ["fate - 0 1 3", "fate - 0 6 1", "latency apns 2 5 2", "latency apns 2 18 1"]
        #expect(try written() == first)
        try write(world)
        #expect(try written() == first, "nothing happened")
        world.counters.ended([1: 4])
        times.observe(0.04)
        world.counters.acceptances(of: apns, .transactional).observe(0.0001)
        let other = try World()
        other.counters.ended([1: 10])
        try write(world)
        try write(other)
        #expect(
            try written() == [
                "fate - 0 1 17", "fate - 0 6 1", "latency apns 0 0 1", "latency apns 2 5 3", "latency apns 2 18 1",
            ]
        )
        let rows = try world.connection.run(
            SQL.countsOverTime(TrafficKind.latency.rawValue, Timestamp(microseconds: 0), 86_400, "shop")
        )
        #expect(rows.reduce(0) { $0 + $1.count } == 5)
    }

    @Test func whatTheServerRefusesIsWrittenLater() throws {
        world.counters.ended([1: 3])
        let blind = try TestDatabase.current.connect()
        try blind.execute("SET default_transaction_read_only = on")
        try write(world, on: blind)
        #expect(try written().isEmpty)
        world.counters.ended([1: 2])
        try write(world)
        #expect(try written() == ["fate - 0 1 5"])
    }

    @Test func whatWasThereBeforeIsNotOurs() throws {
        world.counters.ended([1: 3])
        let later = TrafficTally(world.counters)
        world.counters.ended([1: 1])
        try later.write(on: world.connection, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        #expect(try written() == ["fate - 0 1 1"])
    }
}
