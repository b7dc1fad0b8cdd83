import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import APIKit
@testable import FanfareAPI

/// What phones and their extensions report over HTTP.
@Suite(.database) struct ReportRouteTests {
    private static let path = "/v1/apps/shop/reports"

    /// Registers a device of ann, and logs a push of an event to it.
    private func prepare(_ api: APIWorld, _ token: String) async throws -> (key: String, handle: String, device: String)
    {
        let body = #"{"provider": "apns", "token": "\#(String(repeating: "ab", count: 32))"}"#
        let registered = try await api.ask("PUT", "/v1/apps/shop/devices", body, token: token).json
        let device = try #require(registered["id"]?.stringValue)
        let key = try #require(registered["report_key"]?.stringValue)
        let rule =
            #"{"app": "shop", "name": "r", "event": "e", "to": {"users": "$.u"}, "message": {"data": {"a": "b"}}, "report": true}"#
        _ = try await api.rows("SELECT fanfare.put_rule('\(rule)')")
        let event = try #require(try await api.rows("SELECT fanfare.emit('e', '{\"u\": \"ann\"}')::text")[0][0])
        _ = try await api.rows(
            """
            INSERT INTO fanfare.event_log (day, fate, id, created_at, type, payload)
            SELECT fanfare.ring_day(id), 1, id, created_at, type, payload FROM fanfare.outbox
            """
        )
        _ = try await api.rows(
            """
            INSERT INTO fanfare.batch_log (day, lane, target_id, attempt, id, event_id, created_at, first_device, last_device, rule_version,
                device_ids, outcomes)
            SELECT fanfare.ring_day(b.id), 1, d.target_id, 1, b.id, \(event), now(), d.id, d.id, (SELECT max(id) FROM fanfare.rule_versions),
                ARRAY[d.id], decode('01', 'hex')
            FROM fanfare.devices AS d, (SELECT fanfare.new_batch_id() AS id OFFSET 0) AS b
            """
        )
        let made = try await api.rows(
            "SELECT fanfare.report_handle(\(event), (SELECT max(id) FROM fanfare.rule_versions))"
        )
        return (key, try #require(made[0][0]), device)
    }

    private func counted(_ api: APIWorld) async throws -> String? {
        _ = try await api.rows("SELECT fanfare.fold_reports()")
        return try await api.rows(
            "SELECT string_agg(kind || ':' || devices, ' ' ORDER BY kind) FROM fanfare.report_stats"
        )[0][0]
    }

    private func items(_ handle: String, _ more: String = #""kind": "opened""#) -> String {
        #"{"reports": [{"handle": "\#(handle)", \#(more)}]}"#
    }

    @Test func aDeviceReportsWithItsKeyAndAPhoneWithItsToken() async throws {
        try await PhoneWorld.with { api, forge in
            let ann = forge.token("ann")
            let (key, handle, device) = try await prepare(api, ann)
            let header = ["Authorization": "Report \(key)"]
            for _ in 0..<3 {
                let reply = try await api.ask("POST", Self.path, items(handle), header)
                #expect(reply.status == 202, "\(reply.body)")
                #expect(try reply.json == ["accepted": 1])
            }
            let many =
                #"{"device_id": "\#(device)", "reports": ["#
                + ["received", "shown", "opened", "dismissed"].map {
                    #"{"handle": "\#(handle)", "kind": "\#($0)", "at": "2026-11-26T08:00:00.5Z"}"#
                }
                .joined(separator: ", ")
                + #", {"handle": "\#(handle)", "kind": "action", "action": "reply", "text": "On my way"}]}"#
            for _ in 0..<2 { #expect(try await api.ask("POST", Self.path, many, token: ann).status == 202) }
            #expect(try await counted(api) == "0:1 1:1 2:1 3:1 4:1")
            #expect(try await api.rows("SELECT action, text FROM fanfare.report_actions") == [["reply", nil]])
            let event = try #require(try await api.rows("SELECT id::text FROM fanfare.event_log")[0][0])
            let reader = try await api.token(.reader)
            let shown = try await api.ask("GET", "/v1/events/\(event)/reports", token: reader)
            let row: JSONValue = [
                "event_id": .string(event), "app": "shop", "rule": "r", "variant": .null, "accepted": 1, "received": 1,
                "shown": 1, "opened": 1, "acted": 1, "dismissed": 1, "converted": 0, "value": .null,
            ]
            #expect(try shown.json == ["data": [row]], "\(shown.body)")
            #expect(try await api.ask("GET", "/v1/events/7/reports", token: reader).status == 404)
            let void = ["Authorization": "Report \(key.dropLast())\(key.last == "A" ? "Q" : "A")"]
            #expect(try await api.ask("POST", Self.path, items(handle), void).status == 401)
            #expect(try await api.ask("POST", Self.path, items("garbage"), header).status == 202)
            let metrics = try await api.ask("GET", "/metrics").body
            for line in [
                #"fanfare_reports_total{kind="opened"} 6"#, #"fanfare_reports_total{kind="action"} 2"#,
                "fanfare_reports_refused_total 1", "fanfare_reports_ignored_total 1", "fanfare_reports_pending 0",
            ] {
                #expect(metrics.contains("\n\(line)\n"), "\(line)")
            }
        }
    }

    /// A key that floods gets 429, and a made-up key with the same device's id does not use up its budget.
    @Test func aKeyHasABudget() async throws {
        let budgets = UserBudgets(ReportQueue.keyRate)
        let taken = (0..<100).filter { _ in budgets.take("7 [1]", now: 0) }
        #expect(taken.count == UserBudgets.burst && budgets.take("7 [2]", now: 0))
        #expect(budgets.take("7 [1]", now: 1_000_000_000))
    }

    @Test func whatCannotBeBelievedCountsNothing() async throws {
        try await PhoneWorld.with { api, forge in
            let ann = forge.token("ann")
            let (key, handle, device) = try await prepare(api, ann)
            let report = ["Authorization": "Report \(key)"]
            let other = key.dropLast() + (key.last == "A" ? "Q" : "A")
            let tooMany =
                #"{"reports": ["#
                + Array(repeating: #"{"handle": "x", "kind": "opened"}"#, count: 101).joined(separator: ",") + "]}"
            let cases: [(Int, String, [String: String], String)] = [
                (401, items(handle), [:], "no token"),
                (401, items(handle), ["Authorization": "Report \(other)"], "another key"),
                (
                    401, items(handle), ["Authorization": "Report 999.\(key.split(separator: ".")[1])"],
                    "another device's key"
                ),
                (401, items(handle), ["Authorization": "Report x"], "no key"),
                (401, items(handle), ["Authorization": "Report \(key)x"], "a longer key"),
                (403, items(handle), ["Authorization": "Bearer \(key)"], "the key as a token"),
                (
                    401, #"{"device_id": "\#(device)", "# + items(handle).dropFirst(),
                    ["Authorization": "Bearer \(forge.token("bob"))"], "another user"
                ),
                (422, items(handle), ["Authorization": "Bearer \(ann)"], "no device"),
                (422, #"{"device_id": "9", "# + items(handle).dropFirst(), report, "another device"),
                (422, tooMany, report, "101 reports"), (422, #"{"reports": []}"#, report, "no report"),
                (422, items(handle, #""kind": "seen""#), report, "another kind"),
                (422, items(handle, #""kind": "action""#), report, "no action"),
                (422, items(handle, #""kind": "opened", "action": "x""#), report, "an action of another kind"),
                (
                    422, items(handle, #""kind": "action", "action": "\#(String(repeating: "a", count: 65))""#), report,
                    "a long action"
                ),
                (
                    422,
                    items(
                        handle,
                        #""kind": "action", "action": "a", "text": "\#(String(repeating: "a", count: 1025))""#
                    ), report, "a long text"
                ),
                (422, items(handle, #""kind": "opened", "at": "tomorrow""#), report, "no time"),
                (422, items(handle, #""kind": "opened", "at": "2026-02-31T00:00:00Z""#), report, "no day"),
                (422, items(handle, #""kind": "opened", "more": 1"#), report, "another member"),
                (400, "{", report, "no JSON"),
                // Who forges a handle does not learn it.
                (202, items("x"), report, "no handle"),
                (202, items(String(handle.dropLast(4))), report, "a truncated handle"),
                (202, items("B" + handle.dropFirst()), report, "a forged handle"),
                (202, items(String(repeating: "A", count: 100_000)), report, "a long handle"),
                (413, items(String(repeating: "A", count: 10_000_000)), report, "10 MB"),
            ]
            for (status, body, headers, name) in cases {
                let reply = try await api.ask("POST", Self.path, body, headers)
                #expect(reply.status == status, "\(name): \(reply.status) \(reply.body)")
                #expect(!reply.body.contains(key))
            }
            #expect(
                try await api.ask("POST", "/v1/apps/bank/reports", items(handle), report).status == 401,
                "another app"
            )
            let emitter = try await api.token(.emitter)
            #expect(try await api.ask("POST", Self.path, items(handle), token: emitter).status == 403)
            #expect(try await counted(api) == nil)
            // The key opens nothing else.
            #expect(try await api.ask("GET", "/v1/apps/shop/devices/\(device)", nil, report).status == 401)
            _ = try await api.rows("SELECT fanfare.forget_user('shop', 'ann')")
            #expect(try await api.ask("POST", Self.path, items(handle), report).status == 401)
        }
    }
}
