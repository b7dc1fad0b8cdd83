import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// `users_sql` from the event to the devices, through whole daemons.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct QueryFlowTests {
    private func prepare(_ flow: Flow, prefix: String) async throws {
        try await flow.sql { world in
            try world.connection.execute(
                """
                CREATE TABLE public.members (conversation_id bigint, user_id text);
                INSERT INTO public.members VALUES (1, 'ann'), (1, 'bob'), (1, 'cid'), (2, 'dan');
                GRANT SELECT ON public.members TO fanfare_sql;
                """
            )
            for (number, user) in ["ann", "bob", "cid", "dan"].enumerated() {
                try world.device("\(prefix)0\(number)", user: user)
            }
            try world.rule(
                "chat",
                event: "message",
                to: #"""
                    {"users_sql": "SELECT m.user_id FROM public.members AS m WHERE m.conversation_id = ($1->>'conversation_id')::bigint AND m.user_id <> $1->>'sender'"}
                    """#
            )
        }
    }

    private static let message = #"{"conversation_id": 1, "sender": "ann"}"#

    @Test func allMembersButTheSenderGetAMessage() async throws {
        try await Flow.run { flow in
            try await prepare(flow, prefix: "ca")
            try await flow.sql { try _ = $0.emit("message", Self.message) }
            let pushes = try await flow.pushes(2, to: "ca")
            #expect(Set(pushes.map(\.token)) == ["ca01", "ca02"])
            try await flow.untilIdle()
            #expect(try await flow.received(by: "ca").count == 2)
        }
    }

    /// Slow queries for ten seconds, and a rule that always fails.
    @Test func aSlowRuleHoldsUpNoOther() async throws {
        try await Flow.run { flow in
            try await prepare(flow, prefix: "cb")
            let answers = try await flow.sql { world in
                try world.rule(
                    "slow",
                    event: "slow",
                    to: #"{"users_sql": "SELECT $1->>'user' FROM pg_sleep(1)"}"#
                )
                try world.rule("bad", event: "slow", to: #"{"users_sql": "SELECT nullif($1->>'user', 'dan')"}"#)
                let slow = try (0..<10).map { _ in try world.emit("slow", #"{"user": "dan"}"#) }
                try world.connection.waitUntil(
                    """
                    SELECT count(*) > 0 FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event = 'PgSleep' AND application_name ~ 'users-sql'
                    """
                )
                // The first event may run on the session for fast queries; from then on the rule is known to be slow.
                let first = try world.emit("message", Self.message)
                try world.connection.waitUntil("SELECT deliveries = 2 FROM fanfare.events WHERE id = \(first)")
                let before = try world.connection.number(Self.waiting)
                for _ in 0..<5 {
                    let event = try world.emit("message", Self.message)
                    try world.connection.waitUntil("SELECT deliveries = 2 FROM fanfare.events WHERE id = \(event)")
                }
                let after = try world.connection.number(Self.waiting)
                return (before: before, after: after, slow: slow)
            }
            #expect(answers.before >= 8, "\(answers)")
            #expect(answers.after >= answers.before - 2, "five messages took less than two slow queries: \(answers)")
            let isDone = "SELECT count(*) = 10 FROM fanfare.events WHERE type = 'slow' AND fate = 'refused'"
            try await flow.until(isDone, seconds: 180)
            let details = try await flow.sql { try $0.connection.column(Self.details) }
            #expect(details == ["rule bad: to.users_sql returns null for a user (SQLSTATE 22004)"])
            try await flow.until(
                "SELECT count(*) = 10 FROM fanfare.deliveries WHERE rule = 'slow' AND outcome = 'accepted'"
            )
            #expect(try await flow.received(by: "cb03").count == 10)
        }
    }

    private static let waiting = """
        SELECT count(*) FROM fanfare.audience_queries AS q JOIN fanfare.rule_versions AS v ON v.id = q.rule_version
        WHERE v.definition ->> 'name' = 'slow'
        """
    private static let details = "SELECT DISTINCT detail FROM fanfare.events WHERE type = 'slow'"

    /// Either session may be lost, during the query or during planning.
    @Test func aSessionThatIsCutOffSendsOnce() async throws {
        try await Flow.run { flow in
            try await prepare(flow, prefix: "cc")
            try await flow.sql { world in
                try world.rule(
                    "held",
                    event: "held",
                    to: #"{"users_sql": "SELECT 'dan' FROM pg_advisory_xact_lock_shared(4711)"}"#
                )
                for victim in ["queries", "users-sql"] {
                    try world.connection.execute("SELECT pg_advisory_lock(4711)")
                    let event = try world.emit("held")
                    try world.connection.waitUntil(
                        """
                        SELECT count(*) > 0 FROM pg_stat_activity
                        WHERE datname = current_database() AND wait_event = 'advisory' AND application_name ~ 'users-sql'
                        """
                    )
                    let killed = try world.connection.number(
                        """
                        SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                        WHERE datname = current_database() AND application_name ~ ('^fanfare (slow-)?' || $1 || '$')
                        """,
                        victim
                    )
                    #expect(killed > 0, "\(victim)")
                    try world.connection.execute("SELECT pg_advisory_unlock(4711)")
                    try world.connection.waitUntil("SELECT deliveries > 0 FROM fanfare.events WHERE id = \(event)")
                }
            }
            try await flow.until("SELECT count(*) = 2 FROM fanfare.deliveries WHERE outcome = 'accepted'")
            try await flow.untilIdle()
            #expect(try await flow.received(by: "cc03").count == 2)
        }
    }

    /// A message that was emitted before the grant is sent after it, at its second or third attempt.
    @Test func rightsMayComeWhileAnEventWaits() async throws {
        let log = try await Flow.run { flow in
            try await prepare(flow, prefix: "cd")
            try await flow.sql { world in
                try world.connection.execute("REVOKE SELECT ON public.members FROM fanfare_sql")
                let event = try world.emit("message", Self.message)
                try world.connection.waitUntil(
                    "SELECT max(tries) > 0 FROM fanfare.audience_queries WHERE event_id = \(event)"
                )
                #expect(try world.detail(event)?.contains("permission denied for table members") == true)
                try world.connection.execute("GRANT SELECT ON public.members TO fanfare_sql")
            }
            _ = try await flow.pushes(2, to: "cd")
            try await flow.until("SELECT NOT EXISTS (SELECT FROM fanfare.health WHERE name LIKE 'users_sql%')")
        }
        let line = try #require(log.first { $0.contains("users_sql failed") })
        #expect(line.contains("42501") && line.contains(#""rule.name":"chat""#))
        #expect(log.contains { $0.contains("users_sql works again") })
    }
}
