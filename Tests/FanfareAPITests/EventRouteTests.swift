import FanfareCore
import PostgresClient
import TestKit
import Testing
import Threading

@testable import APIKit

@Suite(.database) struct EventRouteTests {
    /// Counts as the planner does, with blanks after colons and commas.
    @Test(arguments: [(65_527, 202), (65_528, 422)])
    func aPayloadThatIsTooLargeIsRefusedAtOnce(count: Int, status: Int) async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.emitter)
            let x = String(repeating: "x", count: count)
            let body = #"{"type": "t", "payload": {"k":"\#(x)"}}"#
            let reply = try await api.ask("POST", "/v1/events", body, token: token)
            #expect(reply.status == status)
            let stored = try await api.rows("SELECT octet_length(payload::text) FROM fanfare.outbox")
            #expect(status == 422 ? stored.isEmpty : stored[0][0] == "65536")
            if status == 422 { #expect(reply.body.contains("/payload")) }
        }
    }

    @Test func eventsAreEmittedAllOrNone() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.emitter)
            let one = try await api.ask(
                "POST",
                "/v1/events",
                #"{"type": "order", "payload": {"id": 9007199254740993}, "key": "k", "ttl": "4h"}"#,
                token: token
            )
            #expect(one.status == 202)
            let stored = try await api.rows("SELECT id::text, payload ->> 'id', key, ttl::text FROM fanfare.outbox")
            #expect(stored == [[try one.json["id"]?.stringValue, "9007199254740993", "k", "PT4H"]])
            let many = (0..<1000).map { #"{"type": "t", "payload": {"n": \#($0)}}"# }
            let body = #"{"events": [\#(many.joined(separator: ","))]}"#
            let batch = try await api.ask("POST", "/v1/events/batch", body, token: token)
            #expect(batch.status == 202)
            let ids = try batch.json["ids"]?.arrayValue?.compactMap(\.stringValue) ?? []
            let inOrder = try await api.rows(
                "SELECT id::text FROM fanfare.outbox WHERE type = 't' ORDER BY (payload ->> 'n')::int"
            )
            #expect(ids.count == 1000 && inOrder.compactMap(\.first) == ids)
        }
    }

    @Test func whoEmitsStartsNoCampaign() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.emitter)
            let reply = try await api.ask("POST", "/v1/events", #"{"type": "campaign.shop.sale"}"#, token: token)
            #expect(reply.status == 422 && reply.body.contains("emitted by Fanfare only"), "\(reply.body)")
            #expect(try await api.rows("SELECT count(*) FROM fanfare.outbox") == [["0"]])
        }
    }

    @Test(arguments: [
        (#"{"events": [{"type": "a"}, {"type": ""}]}"#, "/events/1/type"), (#"{"events": []}"#, "/events"),
        (#"{"events": [{"type": "a", "payload": []}]}"#, "/events/0/payload"),
        (#"{"events": [{"type": "a", "ttl": "soon"}]}"#, "/events/0/ttl"),
        (#"{"events": [{"type": "a", "payloads": {}}]}"#, "/events/0/payloads"), (#"{"events": [1]}"#, "/events/0"),
        (#"{}"#, "/events"), ("[]", ""), (#"{"events": [{"type": "a\u0000"}]}"#, "/events/0/type"),
    ])
    func whatIsWrongIsToldWithItsPlaceAndChangesNothing(body: String, pointer: String) async throws {
        try await APIWorld.with { api in
            let reply = try await api.ask("POST", "/v1/events/batch", body, token: api.token(.emitter))
            #expect(reply.status == 422 && reply.headers["content-type"] == "application/problem+json")
            #expect(try reply.json["pointer"]?.stringValue == pointer)
            #expect(try await api.rows("SELECT 1 FROM fanfare.outbox").isEmpty)
        }
    }

    @Test func aBodyThatIsNoneIsRefused() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.emitter)
            #expect(try await api.ask("POST", "/v1/events", "{", token: token).status == 400)
            let form = try await api.ask("POST", "/v1/events", nil, token: token, ["Content-Length": "0"])
            #expect(form.status == 415)
            let large = #"{"type": "a", "payload": {"x": "\#(String(repeating: "x", count: 1 << 20))"}}"#
            #expect(try await api.ask("POST", "/v1/events", large, token: token).status == 413)
            // Without a valid token no body is read.
            #expect(try await api.ask("POST", "/v1/events", large).status == 401)
        }
    }

    @Test func anEventIsAPartOfItsRequestsTraceUnlessItSaysAnother() async throws {
        let ids = ["0af7651916cd43dd8448eb211c80319c", "4bf92f3577b34da6a3ce929d0e0e4736"]
        let headers = ["traceparent": "00-\(ids[0])-b7ad6b7169203331-01"]
        try await APIWorld.with { api in
            let token = try await api.token(.emitter, .reader, .operator)
            let one = try await api.ask("POST", "/v1/events", #"{"type": "one"}"#, token: token, headers)
            let id = try #require(try one.json["id"]?.stringValue)
            #expect(try await api.ask("GET", "/v1/events/\(id)", token: token).json["trace_id"]?.stringValue == ids[0])
            let own = #""traceparent": "00-\#(ids[1])-b7ad6b7169203331-00""#
            let events = #"{"type": "a"}, {"type": "b", \#(own)}, {"type": "c", "traceparent": "none"}"#
            #expect(
                try await api.ask("POST", "/v1/events/batch", #"{"events": [\#(events)]}"#, token: token, headers)
                    .status
                    == 202
            )
            // An invalid trace is ignored silently, and the trace of one event does not apply to another.
            let mixed = #"{"events": [{"type": "d", \#(own)}, {"type": "e"}]}"#
            let malformed = ["traceparent": "00-\(ids[0])-0-01"]
            #expect(try await api.ask("POST", "/v1/events/batch", mixed, token: token, malformed).status == 202)
            #expect(
                try await api.rows("SELECT type, trace_id FROM fanfare.events ORDER BY id") == [
                    ["one", ids[0]], ["a", ids[0]], ["b", ids[1]], ["c", ids[0]], ["d", ids[1]], ["e", nil],
                ]
            )
        }
    }

    @Test func aRequestThatComesTwiceIsDoneOnce() async throws {
        try await APIWorld.with { api in
            let (token, other) = (try await api.token(.emitter), try await api.token(.emitter))
            let key = ["Idempotency-Key": "once"]
            let first = try await api.ask("POST", "/v1/events", #"{"type": "a"}"#, token: token, key)
            let second = try await api.ask("POST", "/v1/events", #"{"type": "a"}"#, token: token, key)
            #expect(first.status == 202 && second.status == 202 && first.body == second.body)
            #expect(first.headers["idempotency-replayed"] == nil && second.headers["idempotency-replayed"] == "true")
            let changed = try await api.ask("POST", "/v1/events", #"{"type": "b"}"#, token: token, key)
            #expect(changed.status == 422)
            #expect(try changed.json["code"] == "key_reused")
            // Idempotency keys belong to a token.
            #expect(try await api.ask("POST", "/v1/events", #"{"type": "b"}"#, token: other, key).status == 202)
            #expect(try await api.rows("SELECT type FROM fanfare.outbox ORDER BY id") == [["a"], ["b"]])
            #expect(try await api.rows("SELECT count(*) FROM fanfare.actions") == [["2"]])
        }
    }

    @Test func aRequestThatIsBeingDoneIsNotDoneBeside() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.emitter)
            let database = TestDatabase.current
            let held = try await onThread {
                let connection = try database.connect()
                try connection.execute("BEGIN")
                _ = try connection.query("SELECT pg_advisory_xact_lock(hashtextextended('1:once', 0))")
                return Locked(connection)
            }
            let key = ["Idempotency-Key": "once"]
            let busy = try await api.ask("POST", "/v1/events", #"{"type": "a"}"#, token: token, key)
            #expect(busy.status == 409 && busy.headers["retry-after"] == "1")
            try await onThread { try held.withLock { try $0.execute("ROLLBACK") } }
            let free = try await api.ask("POST", "/v1/events", #"{"type": "a"}"#, token: token, key)
            #expect(free.status == 202)
        }
    }

    @Test func manyAtOnceEmitOneEvent() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.emitter)
            let key = ["Idempotency-Key": "k"]
            let replies = try await withThrowingTaskGroup(of: Reply.self) { tasks in
                for _ in 0..<16 {
                    tasks.addTask {
                        try await api.ask("POST", "/v1/events", #"{"type": "a"}"#, token: token, key)
                    }
                }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
            #expect(replies.allSatisfy { [202, 409].contains($0.status) })
            #expect(replies.contains { $0.status == 202 && $0.headers["idempotency-replayed"] == nil })
            #expect(try await api.rows("SELECT count(*) FROM fanfare.outbox") == [["1"]])
        }
    }

    @Test func eventsAreShownAndCancelled() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.emitter, .reader)
            let id =
                try await api.ask("POST", "/v1/events", #"{"type": "a", "key": "k"}"#, token: token)
                .json["id"]?.stringValue ?? ""
            let shown = try await api.ask("GET", "/v1/events/\(id)", token: token)
            #expect(try shown.json["fate"] == "waiting" && shown.json["id"]?.stringValue == id)
            let cancelled = try await api.ask("POST", "/v1/events/\(id)/cancel", token: token)
            #expect(try cancelled.json["cancelled"] == true)
            let byKey = try await api.ask("POST", "/v1/events/cancel", #"{"type": "a", "key": "none"}"#, token: token)
            #expect(try byKey.json["cancelled"] == false)
            for absent in ["POST /v1/events/987654321/cancel", "GET /v1/events/987654321/deliveries"] {
                let words = absent.split(separator: " ").map(String.init)
                #expect(try await api.ask(words[0], words[1], token: token).status == 404, "\(absent)")
            }
            for target in ["/v1/events/1", "/v1/events/x", "/v1/events/-1", "/v1/events/99999999999999999999"] {
                #expect(try await api.ask("GET", target, token: token).status == 404, "\(target)")
            }
        }
    }

    @Test func eventsAreTakenBack() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.emitter)
            let id =
                try await api.ask("POST", "/v1/events", #"{"type": "a", "key": "k"}"#, token: token)
                .json["id"]?.stringValue ?? ""
            let forOne = try await api.ask("POST", "/v1/events/\(id)/retract", #"{"user_id": "ann"}"#, token: token)
            #expect(try forOne.json["retracted"] == true, "\(forOne.body)")
            #expect(try await api.ask("POST", "/v1/events/\(id)/retract", token: token).json["retracted"] == true)
            let byKey = #"{"type": "a", "key": "k", "user_id": "bob"}"#
            #expect(try await api.ask("POST", "/v1/events/retract", byKey, token: token).json["retracted"] == true)
            let none = #"{"type": "a", "key": "none"}"#
            #expect(try await api.ask("POST", "/v1/events/retract", none, token: token).json["retracted"] == false)
            let stored = try await api.rows(
                "SELECT user_id FROM fanfare.retractions WHERE event_id = \(id) ORDER BY id"
            )
            #expect(stored == [["ann"], [nil], ["bob"]])
            let noted = try await api.rows(
                "SELECT action, target FROM fanfare.actions WHERE action = 'event.retract' ORDER BY id"
            )
            #expect(
                noted == [
                    ["event.retract", id], ["event.retract", id], ["event.retract", "a/k"],
                    ["event.retract", "a/none"],
                ]
            )
            #expect(try await api.ask("POST", "/v1/events/987654321/retract", token: token).status == 404)
            for (path, body, place) in [
                ("/v1/events/\(id)/retract", #"{"user_id": 7}"#, "/user_id"),
                ("/v1/events/\(id)/retract", #"{"user": "a"}"#, "/user"),
                ("/v1/events/retract", #"{"type": "a"}"#, "/key"), ("/v1/events/retract", #"{"key": "a"}"#, "/type"),
            ] {
                let reply = try await api.ask("POST", path, body, token: token)
                #expect(
                    try reply.status == 422 && reply.json["pointer"]?.stringValue == place,
                    "\(body): \(reply.body)"
                )
            }
            for body in [#"{"user_id": ""}"#, #"{"user_id": "undefined"}"#] {
                let reply = try await api.ask("POST", "/v1/events/\(id)/retract", body, token: token)
                #expect(reply.status == 422 && reply.body.contains("hint"), "\(reply.body)")
            }
        }
    }

    @Test func aDatabaseThatGoesAwayIsToldAndComesBack() async throws {
        try await APIWorld.with(APIWorld.configuration(url: "postgres://127.0.0.1:1/none")) { api in
            let token = APITokens.unknown
            let began = ContinuousClock.now
            let reply = try await api.ask("POST", "/v1/events", #"{"type": "a"}"#, token: token)
            #expect(reply.status == 503 && reply.headers["retry-after"] == "1")
            // The bar is a second; on a busy machine it is enough that the request did not wait for a timeout of the
            // server.
            #expect(ContinuousClock.now - began < .seconds(20))
        }
    }
}
