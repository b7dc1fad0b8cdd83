import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import APIKit

/// Events for later over HTTP.
@Suite(.database) struct ScheduledRouteTests {
    private static let shown =
        "SELECT type, key, payload ->> 'n', round(extract(epoch FROM at - now()) / 3600)::text, wall::text FROM fanfare.scheduled ORDER BY id"

    private func schedule(_ api: APIWorld, _ body: String) async throws -> String {
        let reply = try await api.ask("POST", "/v1/events", body, token: api.token(.emitter))
        #expect(reply.status == 202, "\(reply.body)")
        return try reply.json["id"]?.stringValue ?? ""
    }

    @Test func eventsAreScheduledListedMovedAndCancelled() async throws {
        try await APIWorld.with { api in
            let (emitter, reader) = (try await api.token(.emitter), try await api.token(.reader))
            let id = try await schedule(api, #"{"type": "r", "at": "4h", "key": "k", "payload": {"n": 1}}"#)
            let at = try await api.rows(
                "SELECT to_char(now() AT TIME ZONE 'UTC' + interval '2 h', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"
            )
            let other = try await schedule(api, #"{"type": "s", "at": "\#(at[0][0] ?? "")", "ttl": "1h"}"#)
            let wall = try await api.rows(
                "SELECT to_char(now() AT TIME ZONE 'UTC' + interval '24 h', 'YYYY-MM-DD\"T\"HH24:MI')"
            )
            _ = try await schedule(api, #"{"type": "w", "at": "\#(wall[0][0] ?? "")", "zone": "recipient"}"#)
            let replaced = try await schedule(
                api,
                #"{"type": "r", "at": "6h", "key": "k", "payload": {"n": 2}, "replace": true}"#
            )
            #expect(replaced == id)
            let rows = try await api.rows(Self.shown)
            #expect(
                rows.map { Array($0.prefix(4)) } == [
                    ["r", "k", "2", "6"], ["s", nil, nil, "2"], ["w", nil, nil, "9"],
                ]
            )

            let page = try await api.ask("GET", "/v1/scheduled?limit=1", token: reader).json
            #expect(page["data"]?.arrayValue?.map { $0["id"]?.stringValue } == [other])
            let next = try #require(page["next"]?.stringValue)
            let rest = try await api.ask("GET", "/v1/scheduled?limit=1&after=\(next)", token: reader).json
            #expect(rest["data"]?.arrayValue?.map { $0["id"]?.stringValue } == [id])
            let ofType = try await api.ask("GET", "/v1/scheduled?type=w", token: reader).json
            #expect(ofType["data"]?.arrayValue?.first?["local_time"]?.stringValue == "\(wall[0][0] ?? ""):00")
            let one = try await api.ask("GET", "/v1/scheduled/\(id)", token: reader).json
            #expect(one["type"]?.stringValue == "r" && one["key"]?.stringValue == "k" && one["payload"] == nil)

            let moved = try await api.ask(
                "PATCH",
                "/v1/scheduled/\(id)",
                #"{"at": "8h", "payload": {"n": 3}}"#,
                token: emitter
            )
            #expect(moved.status == 200)
            #expect(try await api.rows(Self.shown)[0].prefix(4) == ["r", "k", "3", "8"])
            #expect(try await api.ask("DELETE", "/v1/scheduled/\(id)", token: emitter).status == 204)
            for (method, body) in [("GET", nil), ("DELETE", nil), ("PATCH", #"{"at": "8h"}"#)] {
                let reply = try await api.ask(method, "/v1/scheduled/\(id)", body, token: api.token(.emitter, .reader))
                #expect(reply.status == 404 && reply.body.contains("no scheduled event has the id"), "\(reply.body)")
            }
            let actions = "SELECT action FROM fanfare.actions ORDER BY id"
            #expect(
                try await api.rows(actions).compactMap(\.first) == [
                    "event.emit", "event.emit", "event.emit", "event.emit", "event.reschedule", "event.cancel",
                    "event.cancel", "event.reschedule",
                ]
            )
        }
    }

    /// After it was emitted, an event is found by the id of its row, too.
    @Test func whatWasEmittedIsToldByItsOwnID() async throws {
        try await APIWorld.with { api in
            let id = try await schedule(api, #"{"type": "r", "at": "4h"}"#)
            let event =
                try await api.rows(
                    """
                    WITH e AS (
                        INSERT INTO fanfare.event_log (day, fate, id, type, created_at, payload)
                        SELECT fanfare.ring_day(id), 3, id, 'r', now(), '{}' FROM fanfare.new_event_id() AS id RETURNING id
                    ), s AS (DELETE FROM fanfare.scheduled), n AS (INSERT INTO fanfare.scheduled_events SELECT \(id), id FROM e)
                    SELECT id::text FROM e
                    """
                )[0][0] ?? ""
            let token = try await api.token(.emitter, .reader)
            let gone = try await api.ask("GET", "/v1/scheduled/\(id)", token: token)
            #expect(gone.status == 404 && gone.body.contains("it was emitted as event \(event)"), "\(gone.body)")
            let moved = try await api.ask("PATCH", "/v1/scheduled/\(id)", #"{"at": "1h"}"#, token: token)
            #expect(moved.status == 404 && moved.body.contains(event))
            let shown = try await api.ask("GET", "/v1/events/\(id)", token: token).json
            #expect(shown["id"]?.stringValue == event)
            let deliveries = try await api.ask("GET", "/v1/events/\(id)/deliveries", token: token)
            #expect(deliveries.status == 200)
        }
    }

    @Test(arguments: [
        (#"{"type": "r", "at": "soon"}"#, "/at"), (#"{"type": "r", "at": 5}"#, "/at"),
        (#"{"type": "r", "at": "2026-12-24T18:00", "zone": 1}"#, "/zone"),
        (#"{"type": "r", "at": "4h", "zone": "recipient"}"#, "/at"), (#"{"type": "r", "zone": "recipient"}"#, "/at"),
        (#"{"type": "r", "replace": true}"#, "/replace"), (#"{"type": "r", "at": "4h", "replace": "yes"}"#, "/replace"),
    ])
    func whatIsWrongIsToldWithItsPlace(body: String, pointer: String) async throws {
        try await APIWorld.with { api in
            let reply = try await api.ask("POST", "/v1/events", body, token: api.token(.emitter))
            #expect(reply.status == 422)
            #expect(try reply.json["pointer"]?.stringValue == pointer, "\(reply.body)")
            #expect(
                try await api.rows("SELECT 1 FROM fanfare.scheduled UNION ALL SELECT 1 FROM fanfare.outbox").isEmpty
            )
        }
    }

    @Test func theDatabasesReasonsAreToldToo() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.emitter)
            _ = try await schedule(api, #"{"type": "r", "at": "4h", "key": "k"}"#)
            for (body, words) in [
                (#"{"type": "r", "at": "4h", "key": "k"}"#, "with this key waits already"),
                (#"{"type": "r", "at": "2099-01-01T00:00:00Z"}"#, "more than 10 years ahead"),
                (#"{"type": "r", "at": "2026-12-24T18:00", "zone": "Mars/Olympus"}"#, "is not a time zone"),
                (#"{"type": "r", "at": "2026-02-30T18:00", "zone": "UTC"}"#, "out of range"),
            ] {
                let reply = try await api.ask("POST", "/v1/events", body, token: token)
                #expect(reply.status == 422 && reply.body.contains(words), "\(reply.body)")
            }
            let wrong = try await api.ask("PATCH", "/v1/scheduled/1", #"{"payload": {}}"#, token: token)
            #expect(wrong.status == 422 && wrong.body.contains("/at"))
        }
    }
}
