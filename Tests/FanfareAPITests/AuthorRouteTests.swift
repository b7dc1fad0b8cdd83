import FanfareCore
import TestKit
import Testing

@testable import APIKit

@Suite(.database) struct AuthorRouteTests {
    private static let rule = #"""
        {"name": "shipped", "event": "order.shipped", "when": "$.total > 10", "to": {"users": "$.customer"},
         "message": {"notification": {"title": "On its way", "body": "{{id}}"}}}
        """#

    @Test func rulesArePlannedAppliedListedAndExplained() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.author, .reader, .registrar)
            let body = #"{"rules": [\#(Self.rule)]}"#
            let planned = try await api.ask("POST", "/v1/apps/shop/rules/plan", body, token: token)
            #expect(planned.status == 200 && planned.body.contains("added"))
            #expect(try await api.rows("SELECT * FROM fanfare.rules").isEmpty)
            let applied = try await api.ask("POST", "/v1/apps/shop/rules/apply", body, token: token)
            #expect(applied.status == 200 && applied.body.contains("shipped"))
            let listed = try await api.ask("GET", "/v1/apps/shop/rules", token: token)
            #expect(try listed.json["data"]?.arrayValue?.count == 1)
            #expect(try await api.rows("SELECT action, target FROM fanfare.actions") == [["rules.apply", "shop"]])
            let device = #"{"provider": "apns", "token": "\#(String(repeating: "ab", count: 32))", "user_id": "ann"}"#
            _ = try await api.ask("PUT", "/v1/apps/shop/devices", device, token: token)
            for (total, isMatched) in [(11, true), (9, false)] {
                let event = #"{"type": "order.shipped", "payload": {"id": 7, "customer": "ann", "total": \#(total)}}"#
                let explained = try await api.ask("POST", "/v1/apps/shop/explain", event, token: token)
                let first = try explained.json["data"]?.arrayValue?.first
                #expect(first?["matched"] == .bool(isMatched), "\(explained.body)")
                #expect(first?["sends"]?.arrayValue?.isEmpty == !isMatched)
            }
            let other = try await api.ask("POST", "/v1/apps/shop/explain", #"{"type": "none"}"#, token: token)
            #expect(try other.json["data"] == [])
        }
    }

    /// The checks of `report` and `as_event` run as the token's role.
    @Test func anAuthorStoresARuleWithReports() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.author)
            for more in [#""report": true"#, #""report": true, "as_event": "order.answered""#] {
                let rule = Self.rule.replacing(#"{"name""#, with: #"{\#(more), "name""#)
                let body = #"{"rules": [\#(rule)]}"#
                let applied = try await api.ask("POST", "/v1/apps/shop/rules/apply", body, token: token)
                #expect(applied.status == 200, "\(applied.body)")
            }
            let reserved = Self.rule.replacing(#"{"name""#, with: #"{"report": true, "as_event": "send.x", "name""#)
            let refused = try await api.ask(
                "POST",
                "/v1/apps/shop/rules/apply",
                #"{"rules": [\#(reserved)]}"#,
                token: token
            )
            #expect(refused.status == 422 && refused.body.contains("reserves"), "\(refused.body)")
        }
    }

    @Test func whatIsWrongWithARuleIsTold() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.author)
            let wrong = Self.rule.replacing("$.total > 10", with: "$.total >")
            let refused = try await api.ask(
                "POST",
                "/v1/apps/shop/rules/apply",
                #"{"rules": [\#(Self.rule), \#(wrong)]}"#,
                token: token
            )
            #expect(refused.status == 422)
            let stolen = Self.rule.replacing(#"{"name""#, with: #"{"app": "bank", "name""#)
            let other = try await api.ask(
                "POST",
                "/v1/apps/shop/rules/apply",
                #"{"rules": [\#(stolen)]}"#,
                token: token
            )
            #expect(other.status == 422)
            #expect(try other.json["pointer"] == "/rules/0/app")
            #expect(try await api.rows("SELECT * FROM fanfare.rules").isEmpty)
        }
    }

    @Test func problemsNameNoFlagAndNoCommand() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.author, .reader, .operator)
            let body = #"{"campaigns": [{"name": "sale", "to": {"fcm_topic": "n"}, "message": {"data": {"a": "b"}}}]}"#
            let applied = try await api.ask("POST", "/v1/apps/shop/campaigns/apply", body, token: token)
            #expect(applied.status == 200, "\(applied.body)")
            _ = try await api.rows("SELECT fanfare.take_campaign(id, version, NULL, now()) FROM fanfare.campaigns")
            let unconfirmed = try await api.ask("POST", "/v1/apps/shop/campaigns/sale/start", token: token)
            #expect(unconfirmed.status == 422)
            #expect(
                try unconfirmed.json["detail"]
                    == "the number of recipients is unknown: fcm manages the audience; nothing was started"
            )
            let campaign = try await api.ask("GET", "/v1/apps/shop/campaigns/none", token: token)
            #expect(try campaign.status == 404 && campaign.json["detail"] == "app shop has no campaign none")
            let device = try await api.ask("GET", "/v1/apps/shop/devices/99", token: token)
            #expect(try device.status == 404 && device.json["detail"] == "there is no device 99")
            for problem in [unconfirmed, campaign, device] { #expect(try problem.json["hint"] == nil) }
        }
    }

    @Test func campaignsArePutByAuthorsAndRunByOperators() async throws {
        try await APIWorld.with { api in
            let author = try await api.token(.author, .reader)
            let body = #"{"campaigns": [{"name": "sale", "to": {"everyone": true}, "message": {"data": {"a": "b"}}}]}"#
            let planned = try await api.ask("POST", "/v1/apps/shop/campaigns/plan", body, token: author)
            #expect(planned.status == 200, "\(planned.body)")
            let applied = try await api.ask("POST", "/v1/apps/shop/campaigns/apply", body, token: author)
            #expect(applied.status == 200, "\(applied.body)")
            let path = "/v1/apps/shop/campaigns/sale"
            #expect(try await api.ask("GET", path, token: author).status == 200)
            let progress = try await api.ask("GET", "\(path)/progress", token: author)
            #expect(try progress.json["progress"] == .null)
            #expect(try await api.ask("GET", "/v1/apps/shop/campaigns/none", token: author).status == 404)
            #expect(try await api.ask("POST", "\(path)/start", token: author).status == 403)
            let `operator` = try await api.token(.operator)
            // No daemon has checked the campaign yet.
            let started = try await api.ask("POST", "\(path)/start", #"{"confirm": true}"#, token: `operator`)
            #expect(started.status == 422 && started.body.contains("not checked yet"), "\(started.body)")
            _ = try await api.rows("SELECT fanfare.take_campaign(id, version, NULL, now()) FROM fanfare.campaigns")
            let key = ["Idempotency-Key": "start"]
            let many = try await api.ask("POST", "\(path)/start", #"{"confirm": true}"#, token: `operator`, key)
            #expect(many.status == 202, "\(many.body)")
            let again = try await api.ask("POST", "\(path)/start", #"{"confirm": true}"#, token: `operator`, key)
            #expect(again.status == 202 && again.body == many.body)
            #expect(again.headers["idempotency-replayed"] == "true")
            #expect(
                try ["run_id", "event_id"].allSatisfy { try many.json[$0]?.stringValue.map { Int64($0) } != nil }
            )
            #expect(try await api.rows("SELECT count(*) FROM fanfare.runs") == [["1"]])
            let unconfirmed = try await api.ask("POST", "\(path)/start", token: `operator`, key)
            #expect(try unconfirmed.json["code"] == "key_reused")
            let paused = try await api.ask("POST", "\(path)/pause", token: `operator`)
            #expect(try paused.json["changed"] == true)
            // Often enough that each session uses a generic plan.
            for _ in 0..<60 {
                for change in ["resume", "pause"] {
                    let changed = try await api.ask("POST", "\(path)/\(change)", token: `operator`)
                    #expect(changed.status == 200, "\(changed.body)")
                }
            }
            let aborted = try await api.ask("POST", "\(path)/abort", token: `operator`)
            #expect(try aborted.json["notes"]?.arrayValue?.first?.stringValue?.contains("stays paused") == true)
            for _ in 0..<6 {
                #expect(try await api.ask("POST", "\(path)/abort", token: `operator`).json == ["changed": false])
            }
            for change in ["pause", "resume", "abort", "start"] {
                let absent = try await api.ask("POST", "/v1/apps/shop/campaigns/none/\(change)", token: `operator`)
                #expect(absent.status == 404, "\(change): \(absent.body)")
            }
            #expect(
                try await api.rows("SELECT action FROM fanfare.actions ORDER BY id LIMIT 4")
                    == [["campaigns.apply"], ["campaign.start"], ["campaign.pause"], ["campaign.resume"]]
            )
        }
    }

    @Test func theStatusIsTold() async throws {
        try await APIWorld.with { api in
            let status = try await api.ask("GET", "/v1/status", token: api.token(.reader))
            #expect(status.status == 200)
            #expect(try status.json["schema_version"] != nil && status.json["daemons"] == [])
        }
    }
}
