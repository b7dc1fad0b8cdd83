import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// Events that waited while no daemon ran, and the rule's `backlog`.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct OutageTests {
    /// Emits an event dated before an outage of some minutes.
    private static func emit(_ type: String, _ payload: String, minutesAgo: Int, in world: World) throws -> Int64 {
        try world.connection.number(
            """
            INSERT INTO fanfare.outbox (type, payload, created_at)
            VALUES ($1, $2::jsonb, clock_timestamp() - $3::int * interval '1 minute') RETURNING id
            """,
            type,
            payload,
            "\(minutesAgo)"
        )
    }

    @Test(arguments: [
        (#""backlog": "send""#, ["accepted", "accepted", "accepted", "accepted", "accepted"]),
        (#""collapse": "{{id}}""#, ["accepted", "accepted", "accepted", "accepted", "accepted"]),
        (#""backlog": "drop""#, Array(repeating: "backlog_dropped", count: 4) + ["accepted"]),
        (
            #""backlog": "latest_per_collapse", "collapse": "{{id}}""#,
            ["superseded", "superseded", "accepted", "accepted", "accepted"]
        ),
        (#""backlog": "send", "ttl": "5m""#, ["expired", "expired", "accepted", "accepted", "accepted"]),
    ])
    func theRuleSaysWhatBecomesOfThem(more: String, outcomes: [String]) async throws {
        let flow = try Flow.idle()
        let events = try await flow.sql { world in
            try world.device("aa9100", user: "u")
            try world.rule("r", event: "e", to: #"{"users": "$.u"}"#, more)
            // An event only matches rules that are older.
            try world.connection.execute("UPDATE fanfare.rule_versions SET rule_created_at = now() - interval '1 day'")
            let old = try [("a", 9), ("a", 6), ("a", 3), ("b", 2)].map { id, minutes in
                try Self.emit("e", #"{"u": "u", "id": "\#(id)"}"#, minutesAgo: minutes, in: world)
            }
            // Emitted shortly before the daemon starts, so it does not count as backlog.
            return old + [try Self.emit("e", #"{"u": "u", "id": "c"}"#, minutesAgo: 0, in: world)]
        }
        try await Flow.run { running in
            try await running.until("SELECT count(*) = 5 FROM fanfare.events WHERE fate <> 'waiting'")
            try await running.untilIdle()
            let became = try await running.sql { world in
                try events.map { event in
                    try world.connection.text(
                        """
                        SELECT coalesce((SELECT outcome FROM fanfare.deliveries WHERE event_id = $1), fate)
                        FROM fanfare.events WHERE id = $1
                        """,
                        "\(event)"
                    )
                }
            }
            #expect(became == outcomes)
        }
    }

    @Test func withoutAnOutageAnOlderEventIsNotReplaced() async throws {
        let flow = try Flow.idle()
        try await flow.sql { world in
            try world.device("aa9200", user: "u")
            try world.rule(
                "r",
                event: "e",
                to: #"{"users": "$.u"}"#,
                #""backlog": "latest_per_collapse", "collapse": "{{id}}""#
            )
            for _ in 0..<3 { try world.emit("e", #"{"u": "u", "id": "a"}"#) }
        }
        try await Flow.run { running in
            _ = try await running.pushes(3, to: "aa9200")
            try await running.untilIdle()
            let outcomes = try await running.sql { try $0.connection.column("SELECT outcome FROM fanfare.deliveries") }
            #expect(outcomes == ["accepted", "accepted", "accepted"])
        }
    }
}
