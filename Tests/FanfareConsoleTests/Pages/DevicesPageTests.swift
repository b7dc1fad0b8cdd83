import FanfareCore
import TestKit
import Testing

@testable import APIKit
@testable import FanfareHTTP
@testable import FanfareStore
@testable import FanfareTools

/// Tests of the page of devices, and the restoring of devices that pruning disabled.
@Suite(.database) struct DevicesPageTests {
    private static let hostile = #"<script>alert("1")</script>"#

    /// Registers 120 devices: a third is disabled, half of these for `BadDeviceToken`.
    private func fill(_ api: APIWorld) async throws {
        for sql in [
            """
            SELECT fanfare.register_device('shop', 'apns', lpad(to_hex(g), 64, 'a'),
                user_id => CASE WHEN g = 120 THEN '<script>alert("1")</script>' ELSE 'u' || g END)
            FROM generate_series(1, 120) AS g
            """,
            """
            UPDATE fanfare.devices SET disabled_at = now() - interval '1 hour',
                disabled_reason = CASE WHEN id % 2 = 0 THEN 'BadDeviceToken' ELSE 'unregistered' END
            WHERE id % 3 = 0
            """,
        ] { _ = try await api.rows(sql) }
    }

    private func disabled(_ api: APIWorld, _ reason: String) async throws -> Int {
        let rows = try await api.rows("SELECT count(*) FROM fanfare.devices WHERE disabled_reason = '\(reason)'")
        return try #require(rows.first?.first.flatMap { $0 }.flatMap { Int($0) })
    }

    @Test func devicesAreCountedListedAndPagedThrough() async throws {
        try await APIWorld.with { api in
            try await fill(api)
            let browser = try await api.console()
            let page = try await browser.scan("/devices")
            #expect(page.text.contains(Self.hostile) && page.text.contains("BadDeviceToken"))
            #expect(!page.text.contains(String(repeating: "a", count: 20)), "a token")
            var seen: [String] = []
            var next: String? = "/devices"
            while let target = next {
                let part = try await browser.scan(target)
                seen += part.elements.compactMap { $0["id"] }.filter { $0.hasPrefix("device-") }
                next = part.elements.first { $0["rel"] == "next" }?["href"]
            }
            #expect(seen.count == 120 && Set(seen).count == 120)
            // A cursor of one list is not valid in another.
            let first = try await browser.scan("/devices")
            let href = try #require(first.elements.first { $0["rel"] == "next" }?["href"])
            #expect(try await browser.page("\(href)&app=shop").status == 400)
        }
    }

    @Test func devicesOfFCMAreCountedByAddress() async throws {
        try await APIWorld.with { api in
            for sql in [
                "SELECT fanfare.register_device('shop', 'fcm', 't' || n) FROM generate_series(1, 3) AS n",
                "SELECT fanfare.register_device('shop', 'fcm', 'f' || n, address => 'fid') FROM generate_series(1, 2) AS n",
                "SELECT fanfare.register_device('shop', 'apns', 'ab')",
            ] { _ = try await api.rows(sql) }
            let browser = try await api.console()
            let page = try await browser.scan("/devices").text
            #expect(page.contains("by FID") && page.contains("by token"))
            let device = try #require(
                try await api.rows("SELECT id FROM fanfare.devices WHERE token = 'f1'").first?.first ?? nil
            )
            #expect(try await browser.scan("/devices/\(device)").text.contains("FID's hash"))
        }
    }

    @Test func devicesThatShowNothingAreCountedAndShown() async throws {
        try await APIWorld.with { api in
            for sql in [
                "SELECT fanfare.register_device('shop', 'fcm', 't' || n, permission => 'authorized') FROM generate_series(1, 3) AS n",
                "SELECT fanfare.register_device('shop', 'fcm', 'd' || n, permission => 'denied', presents => '{}') FROM generate_series(1, 2) AS n",
                "SELECT fanfare.register_device('shop', 'apns', 'ab', permission => 'provisional', presents => '{badge,alert}')",
                "SELECT fanfare.register_device('shop', 'fcm', 'gone', permission => 'denied')",
                "SELECT fanfare.unregister_device('shop', 'fcm', 'gone')",
            ] { _ = try await api.rows(sql) }
            let browser = try await api.console()
            let page = try await browser.page("/devices").body
            let cells = #"<td class="number">5</td><td class="number">2</td><td class="number">1</td>"#
            #expect(page.contains(cells) && page.contains("Permission denied"), "\(page)")
            #expect(page.split(separator: "<small>permission denied</small>").count == 3, "of enabled devices")
            #expect(page.contains("<small>permission provisional</small>") && !page.contains("permission authorized"))
            func device(_ token: String) async throws -> String {
                let ids = try await api.rows("SELECT id FROM fanfare.devices WHERE token = '\(token)'")
                return try await browser.scan("/devices/\(ids[0][0] ?? "")").text
            }
            let (quiet, silent, unsaid) = (try await device("ab"), try await device("d1"), try await device("t1"))
            #expect(quiet.contains("provisional") && quiet.contains("alert, badge"), "\(quiet)")
            #expect(silent.contains("denied") && silent.contains("nothing"), "\(silent)")
            #expect(unsaid.contains("Permission") && !unsaid.contains("Presents"), "\(unsaid)")
        }
    }

    @Test func severalTargetsHaveASum() async throws {
        try await APIWorld.with { api in
            try await fill(api)
            let browser = try await api.console()
            #expect(try await !browser.page("/devices").body.contains("<tfoot>"))
            _ = try await api.rows(
                "SELECT fanfare.register_device('shop', 'fcm', 'tokenOfAPhone:' || g) FROM generate_series(1, 3) AS g"
            )
            // Counts are cached for half a minute per app.
            let page = try await browser.page("/devices?app=shop").body
            #expect(
                page.contains(
                    #"<tfoot><tr><th scope="row">All</th><td class="number">83</td><td class="number">0</td><td class="number">40</td><td></td></tr></tfoot>"#
                )
            )
        }
    }

    @Test func filtersAreInTheAddress() async throws {
        try await APIWorld.with { api in
            try await fill(api)
            let browser = try await api.console()
            func count(_ query: String) async throws -> Int {
                let page = try await browser.scan("/devices?\(query)")
                return page.elements.count { $0["id"]?.hasPrefix("device-") ?? false }
            }
            let (bad, gone) = (try await disabled(api, "BadDeviceToken"), try await disabled(api, "unregistered"))
            #expect(try await count("state=disabled") == bad + gone)
            #expect(try await count("reason=BadDeviceToken") == bad)
            #expect(try await count("since=2h") == bad + gone)
            #expect(try await count("since=30m") == 0)
            #expect(try await count("app=bank") == 0)
            let mistaken = try await browser.scan("/devices?since=yesterday")
            #expect(mistaken.text.contains("Not a time"))
            #expect(try await count("id=7") == 1)
            for id in ["abc", "7x", "99999999999999999999"] {
                let noID = try await browser.scan("/devices?id=\(id)")
                #expect(noID.text.contains("Not a device id") && noID.text.contains("Invalid filter"))
                #expect(!noID.elements.contains { $0["id"]?.hasPrefix("device-") ?? false }, "not all of them")
            }
            let one = try await browser.scan("/devices/1")
            #expect(one.text.contains("Device 1") && one.text.contains("u1"))
            #expect(try await browser.page("/devices/999999").status == 404)
            #expect(try await browser.page("/devices/x").status == 404)
        }
    }

    @Test func restoringAsksWithTheCountAndIsDoneOnceByWhoMay() async throws {
        try await APIWorld.with { api in
            try await fill(api)
            let target = "/devices/restore?app=shop&since=2h&reason=BadDeviceToken"
            let reader = try await api.console()
            #expect(try await reader.page(target).status == 403)
            let browser = try await api.console(.operator)
            let bad = try await disabled(api, "BadDeviceToken")
            let asked = try await browser.scan(target)
            #expect(asked.text.contains("Restore \(bad) devices of shop?") && asked.text.contains("BadDeviceToken"))
            let fields = try await browser.question(target)

            // From another site, without its seal, or by a token without the scope: rejected, and nothing is changed.
            let path = "/devices/restore"
            #expect(try await browser.send(path, fields, ["Sec-Fetch-Site": "cross-site"]).status == 403)
            var unsealed = fields
            unsealed["seal"] = nil
            #expect(try await browser.send(path, unsealed).status == 403)
            #expect(try await reader.send(path, fields).status == 403)
            #expect(try await disabled(api, "BadDeviceToken") == bad)

            // While pruning continues, the confirmed devices are restored, without another confirmation.
            _ = try await api.rows(
                "UPDATE fanfare.devices SET disabled_at = now(), disabled_reason = 'BadDeviceToken' WHERE id = 1"
            )
            let done = try await browser.send(path, fields.merging(["reason": "wrong key"]) { $1 })
            let location = try #require(done.location)
            #expect(location == "/devices?did=restored-\(bad)")
            #expect(try await browser.scan(location).text.contains("\(bad) devices are restored."))
            #expect(try await disabled(api, "BadDeviceToken") == 1, "it was disabled after the question")
            #expect(try await disabled(api, "unregistered") > 0, "those stay")
            let actions = try await api.rows("SELECT actor, action, target, count, reason FROM fanfare.actions")
            #expect(actions == [["test", "device.restore", "shop", "\(bad)", "wrong key"]])

            // The end of the range may be part of the address; without one in the form nothing is restored.
            let ended = "/devices/restore?app=shop&since=2h&until="
            #expect(try await browser.scan("\(ended)1h").text.contains("Restore 0 devices of shop?"))
            #expect(try await browser.scan("\(ended)2100-01-01T00:00").text.contains("Restore 1 device of shop?"))
            #expect(try await browser.page("\(ended)later").status == 400)
            var endless = try await browser.question(target)
            endless["until"] = nil
            #expect(try await browser.send(path, endless).status == 400)
            #expect(try await browser.page("/devices/restore?app=shop").status == 400)
            #expect(try await browser.page("/devices/restore?app=nobody&since=2h").status == 422)
        }
    }
}
