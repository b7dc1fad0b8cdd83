import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareRecords
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The trace of an event, from the setting to queue and log.
@Suite(.database)
struct TraceTests {
    private static let id = "0af7651916cd43dd8448eb211c80319c"
    private static let text = "00-\(id)-b7ad6b7169203331-01"
    private static let traceID = "SELECT trace_id FROM fanfare.events WHERE id = $1"

    /// Values that W3C Trace Context allows, and malformed ones that an application may receive; the HTTP API and the
    /// setting treat them alike.
    private static let traces: [String] = [
        text, text.dropLast(2) + "00", "cc" + text.dropFirst(2), "cc" + text.dropFirst(2) + "-what will be",
    ]
    private static let others: [String] = [
        "", "x", text + "-00", text + "\n", " " + text, "cc" + text.dropFirst(2) + "x", "ff" + text.dropFirst(2),
        "0A" + text.dropFirst(2), text.uppercased(), String(text.dropLast()), text.replacing("c-b", with: "-cb"),
        text.replacing("0af7", with: "0à7"), text.replacing("0af7", with: "0xf7"),
        "00-\(String(repeating: "0", count: 32))-b7ad6b7169203331-01", "00-\(id)-0000000000000000-01",
        "00-\(id)-b7ad6b7169203331-0g", String(repeating: "-", count: 55), String(repeating: "00-", count: 100_000),
    ]

    @Test func whatIsNoTraceparentIsIgnoredAndFailsNothing() throws {
        let connection = try TestDatabase.current.connect()
        for (text, isTrace) in Self.traces.map({ ($0, true) }) + Self.others.map({ ($0, false) }) {
            let emitted = """
                SELECT CASE WHEN set_config('fanfare.traceparent', $1, true) = $1 THEN fanfare.emit('e') END
                """
            let event = try connection.number(emitted, text)
            let told = try connection.text(Self.traceID, "\(event)")
            #expect(told == (isTrace ? Self.id : nil), "\(text.prefix(80))")
            #expect(TraceContext(traceparent: text)?.traceID == told, "\(text.prefix(80))")
        }
        let left = try connection.number("SELECT fanfare.emit('e')")
        #expect(try connection.text(Self.traceID, "\(left)") == nil, "the setting is over with its transaction")
    }

    @Test func whoMayOnlyEmitSaysOfWhichTrace() throws {
        let world = try World()
        try world.connection.execute(
            """
            SET ROLE fanfare_emitter; BEGIN; SET LOCAL fanfare.traceparent = '\(Self.text)';
            SELECT fanfare.emit('e'); COMMIT; RESET ROLE
            """
        )
        #expect(try world.connection.column("SELECT trace_id FROM fanfare.events") == [Self.id])
    }

    @Test func theQuarantineKeepsIt() throws {
        let world = try World()
        try world.connection.execute("SET fanfare.traceparent = '\(Self.text)'")
        let first = try world.emit("with spaces in it")
        try world.connection.execute("RESET fanfare.traceparent")
        let second = try world.emit("e")
        let quarantine = PlanRoundSummary(
            try world.connection.run(SQL.quarantineEvents(OutboxFloor(), 10, OutboxChoice()))
        )
        .quarantine
        #expect(quarantine.map(\.eventID) == [first, second] && quarantine.map(\.traceID) == [Self.id, nil])
        #expect(quarantine.map(\.type) == ["with spaces in it", "e"])
        let xid = try #require(
            try world.connection.text("SELECT xid FROM fanfare.quarantine WHERE id = $1", "\(first)")
        )
        let refused = try world.connection.run(
            SQL.refuseQuarantinedEvent(OutboxPlace(xid: xid, id: first).xid, OutboxPlace(xid: xid, id: first).id, "d")
        )
        #expect(refused.map(\.id) == [first] && refused.map(\.traceID) == [Self.id])
        try world.plan()
        #expect(try world.connection.text(Self.traceID, "\(first)") == Self.id)
        #expect(try world.connection.text(Self.traceID, "\(second)") == nil)
    }

    /// A replay is a new action, so it does not continue the trace of the original event.
    @Test func aReplayHasNoTraceButANewOne() throws {
        let world = try World()
        try world.connection.execute("SET fanfare.traceparent = '\(Self.text)'")
        let event = try world.emit("e")
        try world.connection.execute("RESET fanfare.traceparent")
        try world.plan()
        let plain = try world.connection.run(SQL.replayEvent(event, nil, nil, nil)).first ?? 0
        #expect(try world.connection.text(Self.traceID, "\(plain)") == nil)
        let other = try #require(TraceContext(traceparent: Self.text.replacing("0af7", with: "1bf7")))
        let traced = try world.connection.run(SQL.replayEvent(event, nil, nil, other.traceparent)).first ?? 0
        #expect(try world.connection.text(Self.traceID, "\(traced)") == other.traceID)
    }
}
