import FanfareCore
import Foundation
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// From a committed row to a request at the provider, and back to the log.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct FlowTests {
    /// Configures one sender thread with few streams.
    private static func narrow(connections: Int, streams: Int) -> (inout Configuration) -> Void {
        { configuration in
            configuration.send.threads = 1
            configuration.send.connections = connections
            configuration.send.streams = streams
        }
    }

    @Test func aChangedRowPushesOnceItIsCommitted() async throws {
        try await Flow.run { flow in
            try await flow.sql { world in
                try world.device("a100", user: "7")
                try world.device("a101", user: "7", "locale => 'es-MX'")
                let more = #"""
                    "when": "$.new.status == \"shipped\"", "ttl": "1h", "lane": "transactional", "collapse": "order-{{new.id}}",
                    "message": {"notification": {"title": "Order {{new.id}}", "body": "{{{new.note}}}"}, "data": {"id": "{{new.id}}"}},
                    "locales": {"es": {"notification": {"title": "Pedido {{new.id}}"}}}
                    """#
                try world.rule("shipped", event: "order.changed", to: #"{"users": "$.new.customer"}"#, more)
                try world.connection.execute(
                    """
                    CREATE TABLE public.orders (id int PRIMARY KEY, customer int, status text, note text);
                    INSERT INTO public.orders VALUES (1, 7, 'packed', '"quoted" & <b>'), (2, 7, 'packed', 'x'), (3, 8, 'packed', 'x');
                    SELECT fanfare.watch_table('public.orders', 'order.changed', '{customer,status,note}');
                    """
                )
                try world.connection.execute(
                    "BEGIN; UPDATE public.orders SET status = 'shipped' WHERE id = 2; ROLLBACK"
                )
                try world.connection.execute("UPDATE public.orders SET status = 'shipped' WHERE id IN (1, 3)")
            }
            let pushes = try await flow.pushes(2, to: "a10").sorted { $0.token < $1.token }
            try await flow.untilIdle()
            #expect(try await flow.received(by: "a10").count == 2, "the rolled back one never")
            #expect(try pushes.map { try $0.json("aps", "alert", "title")?.stringValue } == ["Order 1", "Pedido 1"])
            #expect(try pushes[0].json("aps", "alert", "body")?.stringValue == #""quoted" & <b>"#)
            #expect(try pushes[0].json("id")?.stringValue == "1")
            for push in pushes {
                #expect(push.status == 200)
                #expect(push.headers["apns-collapse-id"] == "order-1")
                #expect(push.headers["apns-push-type"] == "alert")
                #expect(push.headers["apns-priority"] == "10")
                let expiration = try #require(push.headers["apns-expiration"].flatMap { Double($0) })
                #expect(abs(expiration - Date().timeIntervalSince1970 - 3600) < 60)
            }
            let deliveries = try await flow.sql { try $0.connection.column("SELECT outcome FROM fanfare.deliveries") }
            #expect(deliveries == ["accepted", "accepted"])
        }
    }

    @Test func theSameKeyPushesOnceAndOldEventsNever() async throws {
        try await Flow.run { flow in
            let expired = try await flow.sql { world in
                try world.device("a200", user: "u")
                try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
                let expired = try world.emit("e", #"{"u": "u"}"#, ttl: "-1 s")
                for _ in 0..<3 { try world.emit("e", #"{"u": "u"}"#, key: "once") }
                return expired
            }
            _ = try await flow.pushes(1, to: "a200")
            try await flow.untilIdle()
            #expect(try await flow.received(by: "a200").count == 1)
            #expect(try await flow.sql { try $0.fate(expired) } == "expired")
            let fates = try await flow.sql {
                try $0.connection.column("SELECT fate FROM fanfare.events WHERE key = 'once' ORDER BY 1")
            }
            #expect(fates == ["duplicate", "duplicate", "planned"])
        }
    }

    @Test func aBroadcastReachesEveryDeviceOnce() async throws {
        try await Flow.run { flow in
            let event = try await flow.sql { world in
                try world.device("a300")
                try world.connection.execute(
                    """
                    SELECT fanfare.register_device('shop', 'apns', 'a3' || lpad(to_hex(g), 62, '0'))
                    FROM generate_series(1, 1500) AS g
                    """
                )
                try world.rule("all", event: "all", to: #"{"everyone": true}"#, #""lane": "bulk""#)
                return try world.emit("all")
            }
            let pushes = try await flow.pushes(1501, to: "a3")
            #expect(pushes.count == 1501)
            #expect(Set(pushes.map(\.token)).count == 1501)
            #expect(Set(pushes.compactMap { $0.headers["apns-id"] }).count == 1501, "each has an identity of its own")
            try await flow.untilIdle()
            let accepted = try await flow.sql { world in
                try world.connection.number(
                    "SELECT count(*) FROM fanfare.deliveries WHERE event_id = $1 AND outcome = 'accepted'",
                    "\(event)"
                )
            }
            #expect(accepted == 1501)
        }
    }

    @Test func aOneOffFindsAStreamFreeBesideABroadcast() async throws {
        try await Flow.run(Self.narrow(connections: 2, streams: 32)) { flow in
            let broadcast = try await flow.sql { world in
                try world.device("a700", user: "u")
                // The first pushes are answered at once, so that both connections get all their streams.
                try world.connection.execute(
                    """
                    SELECT fanfare.register_device(
                        'shop', 'apns', CASE WHEN g < 100 THEN 'c7' ELSE 'ef10' END || lpad(to_hex(g), 60, '0'))
                    FROM generate_series(1, 400) AS g
                    """
                )
                try world.rule("all", event: "all", to: #"{"everyone": true}"#, #""lane": "bulk""#)
                try world.rule("one", event: "one", to: #"{"users": "$.u"}"#, #""lane": "transactional""#)
                return try world.emit("all")
            }
            // Of 64 streams.
            _ = try await flow.pushes(60, to: "ef10")
            try await flow.sql { world in _ = try world.emit("one", #"{"u": "u"}"#) }
            _ = try await flow.pushes(2, to: "a700")
            #expect(try await flow.received(by: "ef10").count == 60, "none was answered before")
            try await flow.sql { world in
                _ = try world.connection.text("SELECT fanfare.cancel($1::bigint)", "\(broadcast)")
            }
        }
    }

    @Test func cancellingStopsABroadcastWithinASecond() async throws {
        try await Flow.run(Self.narrow(connections: 1, streams: 10)) { flow in
            let event = try await flow.sql { world in
                try world.connection.execute(
                    """
                    SELECT fanfare.register_device('shop', 'apns', 'ef00' || lpad(to_hex(g), 60, '0'))
                    FROM generate_series(1, 1500) AS g
                    """
                )
                try world.rule("all", event: "all", to: #"{"everyone": true}"#)
                return try world.emit("all")
            }
            _ = try await flow.pushes(30, to: "ef00")
            let known = try await flow.sql { world in
                try world.connection.text("SELECT fanfare.cancel($1::bigint)", "\(event)")
            }
            #expect(known == "t")
            let before = try await flow.received(by: "ef00").count
            try await flow.untilIdle()
            let after = try await flow.received(by: "ef00").count
            // 10 streams of 60 ms each are 167 requests a second.
            #expect(after - before < 250, "\(after - before) requests after the cancellation")
            let counts = try await flow.sql { world in
                try world.connection.column(
                    "SELECT outcome || '=' || count(*) FROM fanfare.deliveries GROUP BY outcome ORDER BY 1"
                )
            }
            #expect(counts == ["accepted=\(after)", "cancelled=\(1500 - after)"])
        }
    }

    @Test func foreignChannelsBecomeEvents() async throws {
        try await Flow.run({ $0.listen = ["orders"] }) { flow in
            try await flow.sql { world in
                try world.device("a400", user: "u")
                try world.rule("r", event: "orders", to: #"{"users": "$.u"}"#)
                try world.connection.waitUntil("SELECT 'channels' = ANY (leads) FROM fanfare.instances")
                try world.connection.execute(
                    """
                    SELECT pg_notify('orders', '{"u": "u"}'), pg_notify('orders', 'no json'), pg_notify('orders', '[1]'),
                        pg_notify('orders', '{"u": "\\u0000"}');
                    """
                )
            }
            _ = try await flow.pushes(1, to: "a400")
            try await flow.until("SELECT count(*) = 4 FROM fanfare.events WHERE fate <> 'waiting'")
            let malformed = try await flow.sql { world in
                try world.connection.column(
                    "SELECT payload ->> 'malformed' FROM fanfare.events WHERE fate = 'refused' ORDER BY payload::text COLLATE \"C\""
                )
            }
            #expect(malformed == ["[1]", "no json", #"{"u": "\u0000"}"#])
        }
    }

    @Test func whatCannotBeSentIsRefusedAlone() async throws {
        try await Flow.run { flow in
            let (attack, large, good) = try await flow.sql { world in
                try world.device("a500", user: "u")
                let more = #""collapse": "{{id}}", "message": {"notification": {"title": "T", "body": "{{text}}"}}"#
                try world.rule("r", event: "e", to: #"{"users": "$.u"}"#, more)
                let attack = try world.emit("e", #"{"u": "u", "id": "a\r\napns-topic: evil", "text": "x"}"#)
                let large = try world.emit(
                    "e",
                    #"{"u": "u", "id": "b", "text": "\#(String(repeating: "x", count: 5000))"}"#
                )
                return (attack, large, try world.emit("e", #"{"u": "u", "id": "c", "text": "x"}"#))
            }
            let pushes = try await flow.pushes(2, to: "a500")
            try await flow.untilIdle()
            // A value that is not valid in a header is sent as its hash.
            let ids = pushes.compactMap { $0.headers["apns-collapse-id"] }
            #expect(ids.count == 2 && ids.contains("c") && !ids.contains { $0.contains("evil") })
            #expect(pushes.allSatisfy { $0.headers["apns-topic"] != "evil" })
            let outcomes = try await flow.sql { world in try [attack, large, good].map { try world.outcomes($0) } }
            #expect(outcomes == [["accepted/accepted"], ["refused/not_renderable"], ["accepted/accepted"]])
        }
    }
}
