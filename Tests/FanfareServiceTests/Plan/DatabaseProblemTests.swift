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

/// Errors of the schema or the server, which must not be counted against an event.
@Suite(.database)
struct DatabaseProblemTests {
    @Test func whileATableIsMissingEventsWait() throws {
        let log = CapturedLog()
        let world = try World(logger: log.logger)
        let device = try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let planner = world.planner()
        let thread = WorkerThread.start(name: "planner") { planner.run() }
        defer {
            planner.stop()
            thread.join()
        }
        let before = try world.emit("e", #"{"u": "u"}"#)
        try world.connection.waitUntil("SELECT fate = 'planned' FROM fanfare.events WHERE id = \(before)")
        try world.connection.execute("ALTER TABLE fanfare.event_keys RENAME TO event_keys_for_now")
        let events = try (0..<3).map { try world.emit("e", #"{"u": "u"}"#, key: "\($0)") }
        // Until planning has been tried more than once.
        while log.count(of: "42P01") < 2 { try world.connection.waitUntil("SELECT pg_sleep(0.005) IS NOT NULL") }
        #expect(try events.map(world.fate) == ["waiting", "waiting", "waiting"])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.quarantine") == 0)
        try world.connection.execute("ALTER TABLE fanfare.event_keys_for_now RENAME TO event_keys")
        for event in events {
            try world.connection.waitUntil("SELECT fate = 'planned' FROM fanfare.events WHERE id = \(event)")
            #expect(try world.recipients(event) == [device])
        }
    }

    @Test func inTheQuarantineTheyWaitToo() throws {
        let world = try World()
        let device = try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let event = try world.emit("e", #"{"u": "u"}"#)
        try world.quarantined(1)
        try world.connection.execute("ALTER TABLE fanfare.event_keys RENAME TO event_keys_for_now")
        var lane = world.quarantine()
        let error = #expect(throws: PostgresError.self) { try lane.plan(on: world.connection) }
        #expect(error?.sqlState == "42P01")
        #expect(try world.fate(event) == "waiting")
        try world.connection.execute("ALTER TABLE fanfare.event_keys_for_now RENAME TO event_keys")
        try lane.plan(on: world.connection)
        #expect(try world.recipients(event) == [device])
    }

    @Test(arguments: [
        ("22003", true), ("23514", true), ("54000", true), ("42P01", false), ("42703", false), ("42883", false),
        ("58030", false), ("XX001", false), ("P0001", false), ("55P03", false), ("53100", false), ("57014", false),
    ])
    func onlyDataLimitsAndConstraintsAreAnEventsFault(state: String, isItsFault: Bool) {
        #expect(PostgresError(.server, sqlState: state, message: "m").isDataError == isItsFault)
    }
}
