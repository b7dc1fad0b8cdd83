import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import APIKit

/// Scheduled messages belong to the app whose token sent them.
@Suite(.database) struct ScheduledMessageTests {
    @Test func aTokenListsMovesAndCancelsOnlyItsAppsMessages() async throws {
        try await APIWorld.with { api in
            let tokens = [
                "shop": try await api.token(.sender, app: "shop"), "bank": try await api.token(.sender, app: "bank"),
            ]
            let body = #"{"to": {"users": "ann"}, "message": {"notification": {"title": "T"}}, "at": "2h", "key": "k"}"#
            var ids: [String: String] = [:]
            for (app, token) in tokens {
                let reply = try await api.ask("POST", "/v1/apps/\(app)/messages", body, token: token)
                #expect(reply.status == 202, "\(reply.body)")
                ids[app] = try reply.json["id"]?.stringValue
                let again = try await api.ask("POST", "/v1/apps/\(app)/messages", body, token: token)
                #expect(again.status == 422 && again.body.contains("with this key waits already"), "\(again.body)")
            }
            _ = try await api.rows("SELECT fanfare.emit_at('order', now() + interval '1 h')")
            let (shop, bank) = (try #require(ids["shop"]), try #require(ids["bank"]))
            let path = "/v1/apps/shop/messages/scheduled"
            let list = try await api.ask("GET", path, token: tokens["shop"]).json
            #expect(list["data"]?.arrayValue?.map { $0["id"]?.stringValue } == [shop])
            for (method, body) in [("GET", nil), ("DELETE", nil), ("PATCH", #"{"at": "8h"}"#)] {
                let other = try await api.ask(method, "\(path)/\(bank)", body, token: tokens["shop"])
                #expect(other.status == 404, "\(other.body)")
                let wrong = try await api.ask(method, "/v1/scheduled/\(shop)", body, token: tokens["shop"])
                #expect(wrong.status == 403)
            }
            #expect(
                try await api.ask("PATCH", "\(path)/\(shop)", #"{"at": "8h"}"#, token: tokens["shop"]).status == 200
            )
            #expect(
                try await api.ask("PATCH", "\(path)/\(shop)", #"{"at": "8h", "payload": {}}"#, token: tokens["shop"])
                    .status == 422
            )
            let hours =
                "SELECT round(extract(epoch FROM at - now()) / 3600)::text FROM fanfare.scheduled WHERE id = \(shop)"
            #expect(try await api.rows(hours) == [["8"]])
            #expect(try await api.ask("DELETE", "\(path)/\(shop)", token: tokens["shop"]).status == 204)
            #expect(try await api.ask("GET", "\(path)/\(shop)", token: tokens["shop"]).status == 404)
            #expect(try await api.rows("SELECT id::text FROM fanfare.scheduled WHERE app_id IS NOT NULL") == [[bank]])
        }
    }
}
