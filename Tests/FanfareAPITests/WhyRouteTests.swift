import FanfareCore
import TestKit
import Testing

@testable import APIKit

/// Tests of the routes that explain why a user got a push or did not, and that replay events.
@Suite(.database) struct WhyRouteTests {
    /// Emits an event, and plans it for an empty audience.
    private func planned(_ api: APIWorld) async throws -> String {
        let emitter = try await api.token(.emitter)
        let body = #"{"type": "order", "payload": {"user": "ann"}, "key": "k"}"#
        let id = try await api.ask("POST", "/v1/events", body, token: emitter).json["id"]?.stringValue
        _ = try await api.rows(
            """
            WITH o AS (DELETE FROM fanfare.outbox RETURNING *)
            INSERT INTO fanfare.event_log (day, fate, id, type, key, created_at, planned_at, payload)
            SELECT fanfare.ring_day(id), 3, id, type, key, created_at, now(), payload FROM o
            """
        )
        return try #require(id)
    }

    @Test func oneEventIsToldOfInStepsAndTheLastInOneLineEach() async throws {
        try await APIWorld.with { api in
            let event = try await planned(api)
            let registrar = try await api.token(.registrar)
            let device = #"{"provider": "apns", "token": "\#(String(repeating: "ab", count: 32))", "user_id": "ann"}"#
            #expect(try await api.ask("PUT", "/v1/apps/shop/devices", device, token: registrar).status == 200)
            let reader = try await api.token(.reader)
            let rule =
                #"{"app": "shop", "name": "r", "event": "order", "to": {"users": "$.user"}, "message": {"data": {"a": "b"}}}"#
            _ = try await api.rows("SELECT fanfare.put_rule('\(rule)')")
            let one = try await api.ask("GET", "/v1/apps/shop/users/ann/why?event=\(event)", token: reader)
            #expect(one.status == 200)
            #expect(try one.json["event_id"]?.stringValue == event && one.json["user_id"] == "ann")
            #expect(try one.json["verdict"]?["reason"] == "no_rule")
            let steps = try one.json["steps"]?.arrayValue ?? []
            #expect(steps.map { $0["outcome"]?.stringValue } == ["unmatched", "not_matched"])
            let last = try await api.ask("GET", "/v1/apps/shop/users/ann/why", token: reader)
            #expect(try last.json["data"]?.arrayValue?.map { $0["event_id"]?.stringValue } == [event])
            for wrong in ["x", "0", "-1"] {
                let reply = try await api.ask("GET", "/v1/apps/shop/users/ann/why?event=\(wrong)", token: reader)
                #expect(reply.status == 400)
            }
            #expect(try await api.ask("GET", "/v1/apps/none/users/ann/why", token: reader).status == 422)
            let nobody = try await api.ask("GET", "/v1/apps/shop/users/nobody/why", token: reader)
            #expect(nobody.status == 404 && nobody.body.contains("No device is registered with the user id nobody"))
            // The page calls the same function.
            let browser = try await api.console()
            let listed = try await browser.scan("/people?user=ann").links("/people?event=")
            #expect(listed == ["/people?event=\(event)&user=ann#why"])
            let said = try last.json["data"]?.arrayValue?.first?["detail"]?.stringValue ?? "nothing"
            #expect(try await browser.scan("/people?user=ann&app=shop").text.contains(said))
            #expect(try await api.ask("GET", "/v1/apps/shop/users/ann/why", token: registrar).status == 403)
        }
    }

    /// Event ids are consecutive, and payloads of any app's events name users.
    @Test func anAppIsToldOfNoEventThatItsRulesDoNotTake() async throws {
        try await APIWorld.with { api in
            let event = try await planned(api)
            let rule =
                #"{"app": "bank", "name": "r", "event": "order", "to": {"users": "$.user"}, "message": {"data": {"a": "b"}}}"#
            _ = try await api.rows(
                "SELECT fanfare.put_rule('\(rule)'), fanfare.register_device('shop', 'fcm', 'a', 'ann')"
            )
            _ = try await api.rows("SELECT fanfare.emit('order', '{\"user\": \"ann\"}')")
            let waiting = try await api.rows("SELECT id::text FROM fanfare.outbox").first?.first.flatMap(\.self)
            for token in [try await api.token(.reader), try await api.token(.reader, app: "shop")] {
                for id in [event, try #require(waiting), "7"] {
                    let one = try await api.ask("GET", "/v1/apps/shop/users/ann/why?event=\(id)", token: token)
                    #expect(one.status == 404 && !one.body.contains("order"), "\(one.body)")
                }
                let last = try await api.ask("GET", "/v1/apps/shop/users/ann/why", token: token)
                #expect(try last.json["data"] == [])
            }
            let token = try await api.token(.reader, app: "bank")
            #expect(try await api.ask("GET", "/v1/apps/bank/users/ann/why?event=\(event)", token: token).status == 200)
            let last = try await api.ask("GET", "/v1/apps/bank/users/ann/why", token: token)
            #expect(try last.json["data"]?.arrayValue?.count == 2)
        }
    }

    @Test func anEventGoesOutOnceMoreAndItIsNotedWho() async throws {
        try await APIWorld.with { api in
            let event = try await planned(api)
            let token = try await api.token(.operator)
            let reply = try await api.ask("POST", "/v1/events/\(event)/replay", #"{"user_id": "ann"}"#, token: token)
            #expect(reply.status == 202)
            let id = try #require(try reply.json["id"]?.stringValue)
            #expect(try reply.json["replay_of"]?.stringValue == event)
            let stored = try await api.rows("SELECT id::text, replay_of::text, only_user, key FROM fanfare.outbox")
            #expect(stored == [[id, event, "ann", "k"]])
            let noted = try await api.rows("SELECT action, target FROM fanfare.actions WHERE action = 'event.replay'")
            #expect(noted == [["event.replay", "\(event) as \(id)"]])
            // A client that does not know whether its request succeeded repeats it.
            let key = ["Idempotency-Key": "again"]
            let path = "/v1/events/\(event)/replay"
            let first = try await api.ask("POST", path, #"{"user_id": "ann"}"#, token: token, key)
            let second = try await api.ask("POST", path, #"{"user_id": "ann"}"#, token: token, key)
            #expect(first.status == 202 && second.status == 202 && first.body == second.body)
            #expect(first.headers["idempotency-replayed"] == nil && second.headers["idempotency-replayed"] == "true")
            #expect(try await api.rows("SELECT count(*) FROM fanfare.outbox") == [["2"]])
            #expect(try await api.ask("POST", path, #"{"user_id": "bob"}"#, token: token, key).status == 422)
            let unknown = try await api.ask("POST", "/v1/events/7/replay", token: token)
            #expect(unknown.status == 422 && unknown.body.contains("there is no event 7"))
            #expect(try await api.ask("POST", "/v1/events/\(event)/replay", token: api.token(.emitter)).status == 403)
        }
    }
}
