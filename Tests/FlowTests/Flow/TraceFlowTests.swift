import FanfareCore
import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareTools

/// A trace from the application's transaction to the receivers of its pushes, and to the logs.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(3)))
struct TraceFlowTests {
    private static let ids = ["0af7651916cd43dd8448eb211c80319c", "4bf92f3577b34da6a3ce929d0e0e4736"]
    private static let span = "b7ad6b7169203331"

    @Test func aTraceGoesFromATriggerToAWebhookAndIntoTheLog() async throws {
        let told = Locked<[String]>([])
        let log = try await Flow.run({ $0.log.deliveries = .all }) { flow in
            for name in ["first", "second"] {
                let webhook = try await flow.sandbox.device(of: "webhook", named: name)
                try await flow.sql { try $0.register(webhook, user: "ann") }
            }
            let browser = try await flow.sandbox.subscription("traced")
            try await flow.sql { world in
                try world.device("a7ace0", user: "ann")
                try world.register(android: "traced-android", user: "ann")
                try world.register(browser, user: "ann")
                try world.rule("order", event: "order", to: #"{"users": "$.new.customer"}"#)
                try world.rule("nameless", event: "order", to: #"{"topic": "{{nothing}}"}"#)
                // Two events of one trace, then a single one that is claimed while it is planned. The last event has no
                // trace.
                try world.connection.execute(
                    """
                    CREATE TABLE public.orders (id int PRIMARY KEY, customer text);
                    SELECT fanfare.watch_table('public.orders', 'order');
                    BEGIN;
                    SET LOCAL fanfare.traceparent = '00-\(Self.ids[0])-\(Self.span)-01';
                    INSERT INTO public.orders VALUES (1, 'ann'), (2, 'ann');
                    COMMIT
                    """
                )
            }
            try await flow.until(Self.accepted(10))
            for trace in ["00-\(Self.ids[1])-\(Self.span)-00", "none"] {
                try await flow.sql { world in
                    try world.connection.execute(
                        """
                        BEGIN;
                        SET LOCAL fanfare.traceparent = '\(trace)';
                        INSERT INTO public.orders SELECT count(*) + 1, 'ann' FROM public.orders;
                        COMMIT
                        """
                    )
                }
                try await flow.until(Self.accepted(trace == "none" ? 20 : 15))
            }
            try await flow.untilIdle()
            try await expectHeaders(of: try await flow.sandbox.received())
            let tools = try toolDatabase()
            let lines = try await onThread {
                var filter = LogTail.Filter()
                filter.since = Since("1h")
                return try tools.tail(filter).next().map { $0.json["trace_id"]?.stringValue ?? "none" }
            }
            told.withLock { $0 = lines }
            let deliveries = try await flow.sql { world in
                try world.connection.column(
                    "SELECT coalesce(trace_id, 'none') || ' ' || count(*) FROM fanfare.deliveries GROUP BY trace_id"
                )
            }
            #expect(Set(deliveries) == ["\(Self.ids[0]) 10", "\(Self.ids[1]) 5", "none 5"])
        }
        // Each event, and each of its pushes.
        #expect(told.withLock { Self.counts($0) } == [Self.ids[0]: 12, Self.ids[1]: 6, "none": 6])
        let lines = try log.map { try JSONValue(parsing: $0) }
        for (message, each) in [("push accepted", 5), ("a rule matched an event and could not be planned for it", 1)] {
            let traces = lines.filter { $0["msg"]?.stringValue == message }
                .map { $0["trace_id"]?.stringValue ?? "none" }
            #expect(Self.counts(traces) == [Self.ids[0]: 2 * each, Self.ids[1]: each, "none": each], "\(message)")
        }
    }

    /// Webhooks receive the trace with a span for each request; push services receive none.
    private func expectHeaders(of pushes: [ReceivedPush]) async throws {
        let webhooks = pushes.filter { $0.provider == "webhook" }.map { $0.headers["traceparent"] }
        let parts = webhooks.compactMap { $0?.split(separator: "-").map(String.init) }
        #expect(webhooks.count == 8 && parts.count == 6 && parts.allSatisfy { $0.count == 4 })
        #expect(
            Self.counts(parts.map { "\($0[0]) \($0[1]) \($0[3])" }) == [
                "00 \(Self.ids[0]) 01": 4, "00 \(Self.ids[1]) 00": 2,
            ]
        )
        let spans = Set(parts.map { $0[2] })
        #expect(spans.count == 6 && !spans.contains(Self.span) && spans.allSatisfy { $0.utf8.count == 16 })
        // Google's token endpoint receives none either.
        let others = pushes.filter { $0.provider != "webhook" }
        #expect(others.count >= 12)
        for push in others {
            let all = push.headers.map { "\($0.key): \($0.value)" } + [push.body ?? ""]
            #expect(!all.contains { line in line.contains("traceparent") || Self.ids.contains { line.contains($0) } })
        }
    }

    private static func accepted(_ count: Int) -> String {
        "SELECT count(*) = \(count) FROM fanfare.deliveries WHERE outcome = 'accepted'"
    }

    private static func counts(_ texts: [String]) -> [String: Int] {
        Dictionary(grouping: texts) { $0 }.mapValues(\.count)
    }
}
