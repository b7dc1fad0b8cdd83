import FanfareCore
import PostgresClient
import TestKit
import Testing
import Threading

@testable import APIKit

@Suite(.database) struct MessageRouteTests {
    private static let path = "/v1/apps/shop/messages"
    private static let body = #"{"to": {"users": "u-7"}, "message": {"notification": {"title": "{{n}}"}}}"#

    @Test func aMessageIsSent() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.sender, app: "shop")
            let headers = ["traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]
            let reply = try await api.ask("POST", Self.path, Self.body, token: token, headers)
            #expect(reply.status == 202, "\(reply.body)")
            let stored =
                "SELECT id::text, type, payload -> 'texts' ->> 'notification-title', payload ->> 'to' FROM fanfare.outbox"
            let id = try reply.json["id"]?.stringValue
            #expect(try await api.rows(stored) == [[id, "send.shop", "{{n}}", "u-7"]])
            #expect(
                try await api.rows("SELECT trace_id FROM fanfare.events") == [["0af7651916cd43dd8448eb211c80319c"]]
            )
            #expect(
                try await api.rows("SELECT action, target FROM fanfare.actions") == [["message.send", id]]
            )
        }
    }

    @Test func aRepeatedRequestSendsOnce() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.sender)
            let headers = ["Idempotency-Key": "once"]
            let first = try await api.ask("POST", Self.path, Self.body, token: token, headers)
            let second = try await api.ask("POST", Self.path, Self.body, token: token, headers)
            #expect(first.status == 202 && second.status == 202)
            #expect(try first.json["id"] == second.json["id"])
            #expect(second.headers["idempotency-replayed"] == "true")
            #expect(try await api.rows("SELECT count(*) FROM fanfare.outbox") == [["1"]])
        }
    }

    @Test func aSenderSendsForItsAppAndDoesNothingElse() async throws {
        try await APIWorld.with { api in
            let ofShop = try await api.token(.sender, app: "shop")
            #expect(try await api.ask("POST", "/v1/apps/bank/messages", Self.body, token: ofShop).status == 403)
            let other = Self.body.replacing(#"{"to""#, with: #"{"app": "bank", "to""#)
            let reply = try await api.ask("POST", Self.path, other, token: ofShop)
            #expect(try reply.status == 422 && reply.json["pointer"] == "/app", "\(reply.body)")
            let own = Self.body.replacing(#"{"to""#, with: #"{"app": "shop", "to""#)
            #expect(try await api.ask("POST", Self.path, own, token: ofShop).status == 202)
            #expect(try await api.ask("POST", "/v1/events", #"{"type": "a"}"#, token: ofShop).status == 403)
            #expect(try await api.ask("GET", "/v1/apps/shop/rules", token: ofShop).status == 403)
            let rules =
                #"{"rules": [{"name": "r", "event": "e", "to": {"users": "$.u"}, "message": {"data": {"a": "b"}}}]}"#
            #expect(try await api.ask("POST", "/v1/apps/shop/rules/apply", rules, token: ofShop).status == 403)
            for scope: TokenScope in [.emitter, .author] {
                let reply = try await api.ask("POST", Self.path, Self.body, token: api.token(scope))
                #expect(reply.status == 403)
            }
            #expect(try await api.ask("POST", Self.path, Self.body).status == 401)
            #expect(try await api.rows("SELECT count(*) FROM fanfare.outbox") == [["1"]])
        }
    }

    @Test(arguments: [
        (#"{"message": {"data": {"a": "b"}}}"#, "/to"), (#"{"to": {"users": "a"}}"#, "/message"),
        (#"{"to": {"user": "a"}, "message": {}}"#, "/to/user"), (#"{"to": {"users": []}, "message": {}}"#, "/to/users"),
        (#"{"to": {"users": "a"}, "message": {}, "x": 1}"#, "/x"),
        (#"{"to": {"users": "a"}, "message": {}, "ttl": "soon"}"#, "/ttl"),
        (#"{"to": {"users": "a"}, "message": {}, "at": "tomorrow"}"#, "/at"),
        (#"{"to": {"users": "a"}, "message": {}, "key": ""}"#, "/key"),
        (#"{"to": {"users": "a\u0000"}, "message": {}}"#, ""), ("[]", ""),
    ])
    func whatIsWrongIsToldWithItsPlace(body: String, pointer: String) async throws {
        try await APIWorld.with { api in
            let reply = try await api.ask("POST", Self.path, body, token: api.token(.sender))
            #expect(reply.status == 422 && reply.headers["content-type"] == "application/problem+json", "\(reply.body)")
            #expect(try reply.json["pointer"]?.stringValue == pointer)
            #expect(try pointer.isEmpty || reply.json["hint"]?.stringValue?.isEmpty == false)
            #expect(try await api.rows("SELECT 1 FROM fanfare.outbox").isEmpty)
        }
    }

    @Test func nullIsAsIfItWereNotThere() async throws {
        try await APIWorld.with { api in
            let body = Self.body.replacing(#"{"to""#, with: #"{"key": null, "ttl": null, "collapse": null, "to""#)
            let reply = try await api.ask("POST", Self.path, body, token: api.token(.sender))
            #expect(reply.status == 202, "\(reply.body)")
        }
    }
}
