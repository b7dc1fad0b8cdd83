import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareExplain
@testable import FanfareRecords
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore
@testable import FanfareTools
@testable import fanfare

/// The output of `why` for events that no daemon has sent, and its formats.
@Suite(.database)
struct WhyToolTests {
    private let world: World

    init() throws {
        world = try World()
    }

    /// Returns outcome, reason and detail of an event's result for a user.
    private func line(_ event: Int64, _ user: String = "ann") throws -> String {
        try world.connection.query(
            "SELECT outcome, reason, detail FROM fanfare.why_verdict($1, $2)",
            String(event),
            user
        ).rows[0].map { $0 ?? "" }.joined(separator: " | ")
    }

    /// Emits an event that waits in the queue, for a rule to everyone behind a gate of its own.
    private func waiting() throws -> Int64 {
        try world.device("aa01", user: "ann")
        try world.rule("r", event: "e", to: #"{"everyone": true}"#)
        let event = try world.emit("e", ttl: "1 h")
        try world.plan()
        return event
    }

    @Test func whatStillWaitsSaysWhatHoldsIt() throws {
        let event = try waiting()
        #expect(try line(event).hasPrefix("waiting | no_daemon | It is ready to be sent, but no daemon is running."))
        try world.connection.execute(
            "INSERT INTO fanfare.instances (name, host, pid, version, lease_until, schema_version) VALUES ('d', 'h', 1, 'v', now() + interval '1 h', 5)"
        )
        #expect(try line(event).hasPrefix("waiting | lane | It waits for its turn in lane normal."))
        _ = try world.connection.query(#"SELECT fanfare.put_policy('shop', '{"rate": "5/s"}')"#)
        #expect(
            try line(event).hasPrefix(
                "waiting | rate | It waits for its turn: pushes are limited (rate, 5/s of the app)"
            )
        )
        try world.connection.execute(
            #"UPDATE fanfare.instances SET report = '{"breakers": {"shop/apns/production": "open"}}'"#
        )
        #expect(try line(event).hasPrefix("waiting | breaker | The provider fails"))
        try world.connection.execute(
            """
            UPDATE fanfare.batches SET gate_id = (SELECT fanfare.make_gate(1));
            UPDATE fanfare.gates SET is_paused = true, reason = 'campaign sale is paused'
            """
        )
        #expect(try line(event).hasPrefix("waiting | paused | Paused: campaign sale is paused."))
        try world.connection.execute("UPDATE fanfare.gates SET is_paused = false, state = 'held'")
        #expect(try line(event).hasPrefix("waiting | canary | "))
        try world.connection.execute(
            "UPDATE fanfare.batches SET gate_id = 0, not_before = now() + interval '1 h', due_at = now() + interval '1 h'"
        )
        try world.connection.execute("UPDATE fanfare.batches SET due_at = not_before")
        #expect(try line(event).hasPrefix("waiting | recipient_time | "))
        try world.connection.execute(
            "UPDATE fanfare.batches SET owner = 1, lease_token = 1; UPDATE fanfare.instances SET report = '{}'"
        )
        #expect(try line(event).hasPrefix("waiting | in_flight | "))
    }

    /// A logged delivery is reported by its outcome, no matter how it was written.
    @Test(arguments: [
        (14, "held_out | holdout | In the holdout (control) group"),
        (4, "expired | ttl_passed | Its ttl passed"),
        (5, "cancelled | cancel_requested | fanfare.cancel reached it before it was sent."),
        (6, "superseded | newer_event | "),
        (123, "rejected | PayloadTooLarge | The payload is over APNs' limit. It is not retried"),
        (254, "rejected | unknown | apns said unknown"),
    ])
    func eachOutcomeIsALine(code: Int, begins: String) throws {
        let event = try waiting()
        let batches = try world.claim()
        for batch in batches {
            let record = BatchRecord(id: batch.id, leaseToken: batch.leaseToken, outcomes: [UInt8(code)])
            let tally = OutcomeTally(batchID: batch.id, outcome: UInt8(code), deliveries: 1)
            _ = try world.connection.run(CloseBatches(owner: 1, batches: [record], retries: [], tallies: [tally]))
        }
        let said = try line(event)
        #expect(said.hasPrefix(begins), "\(said)")
        if code == 4 { #expect(said.contains(", ttl 01:00:00.")) }
    }

    /// The provider accepts pushes to a phone that shows none.
    @Test(arguments: [
        ("permission => 'denied'", "device", "The phone does not show it: its permission is denied."),
        (
            "permission => 'authorized', presents => '{badge}'", "device",
            "The phone does not show it: its alerts are off."
        ),
        ("permission => 'authorized', presents => '{alert}'", "device", nil),
        ("permission => 'provisional'", "device", nil),
        ("permission => 'denied'", "voip", nil),
    ])
    func anAcceptedPushMayNotBeShown(said: String, kind: String, words: String?) throws {
        try world.device("aa01", user: "ann", "kind => '\(kind)', \(said)")
        let message =
            kind == "voip" ? #""message": {"apns": {"payload": {"aps": {}}}}"# : ""
        try world.rule("r", event: "e", to: #"{"everyone": true, "kind": "\#(kind)"}"#, message)
        let event = try world.emit("e")
        try world.plan()
        for batch in try world.claim() {
            let record = BatchRecord(id: batch.id, leaseToken: batch.leaseToken, outcomes: [1])
            let tally = OutcomeTally(batchID: batch.id, outcome: 1, deliveries: 1)
            _ = try world.connection.run(CloseBatches(owner: 1, batches: [record], retries: [], tallies: [tally]))
        }
        let line = try line(event)
        #expect(
            line.hasPrefix("accepted | accepted | ") && line.contains("The phone does not") == (words != nil),
            "\(line)"
        )
        if let words { #expect(line.contains(words), "\(line)") }
    }

    @Test func whatWasNeverPlannedForThePersonSaysWhy() throws {
        let event = try waiting()
        let late = try world.device("bb01", user: "bob")
        #expect(try line(event, "bob").hasPrefix("not_reached | registered_later | Registered "))
        try world.connection.execute("UPDATE fanfare.devices SET registered_at = '2026-01-01' WHERE id = \(late)")
        #expect(try line(event, "bob").hasPrefix("not_reached | not_in_audience | It was not there"))
        try world.device("cc01", user: "cid", "kind => 'voip'")
        #expect(
            try line(event, "cid").hasPrefix("not_reached | other_kind | Its token is for voip, the rule for device")
        )
        let first = try world.emit("e", key: "k")
        let second = try world.emit("e", key: "k")
        try world.plan()
        #expect(
            try line(second).hasPrefix(
                "duplicate | same_key | Not sent again: event \(first) had the same type and key 'k'."
            )
        )
        #expect(try line(event + 1000).hasPrefix("unknown | no_event | There is no event \(event + 1000): "))
        #expect(try line(5).hasPrefix("unknown | no_event | There is no event 5: no id of an event is like that"))
        let bare = try world.emit("e", "[]")
        try world.plan()
        #expect(
            try line(bare)
                == "refused | not_valid | The event itself was refused: the payload is not a JSON object. Fix the emitter"
        )
    }

    /// Split at its conditions; strings and brackets may contain the same words.
    @Test(arguments: [
        (#"$.a == 1 && $.b == "x && y""#, [#"$.a == 1"#, #"$.b == "x && y""#]),
        (
            #"(($.a == 1) && exists($.b ? (@.c == 1 && @.d == 2)))"#,
            ["($.a == 1)", "exists($.b ? (@.c == 1 && @.d == 2))"]
        ),
        ("$.a == 1 || $.b == 2 && $.c == 3", ["$.a == 1 || $.b == 2 && $.c == 3"]),
        ("strict $.a == 1 && !($.b == 2)", ["strict $.a == 1", "strict !($.b == 2)"]),
        ("$.a == 1", ["$.a == 1"]),
    ])
    func aConditionIsToldInItsParts(path: String, parts: [String]) throws {
        #expect(try world.connection.column("SELECT unnest(fanfare.when_parts($1))", path) == parts)
    }

    @Test func theCommandShowsBoth() async throws {
        let event = try waiting()
        let database = try toolDatabase()
        let report = try await database.why(eventID: event, user: "ann", app: "shop")
        let lines = report.text.split(separator: "\n")
        #expect(lines[0].hasPrefix("event \(event) e for ann: waiting (no_daemon), shop/r: It is ready to be sent"))
        #expect(lines.count == 5 && lines[1].hasPrefix("AT ") && lines[4].contains("shop/r, apns device "))
        #expect(report.json["verdict"]?["reason"] == "no_daemon" && report.json["steps"]?.arrayValue?.count == 3)
        let recent = try await database.why(user: "ann", app: nil)
        #expect(WhyVerdict.text(recent).contains("  event \(event) e  waiting (no_daemon), shop/r: "))
        let error = await #expect(throws: ToolError.self) { try await database.why(user: "ann", app: "shpo") }
        #expect(error?.kind == .usage && error?.hint == "There are shop.")
        await database.close()
    }
}
