import FanfareCore
import FanfareProviders
import Foundation
import HTTPTypes
import Programs
import PushCrypto
import TestKit
import Testing

@testable import APIKit
@testable import FanfareAPI
@testable import FanfareConfiguration
@testable import FanfareHTTP
@testable import FanfareTools

/// Tests of the routes that accept phone tokens, and that they are limited to the token's user.
@Suite(.database) struct PhoneRouteTests {
    private func device(_ token: String, _ more: String = "") -> String {
        #"{"provider": "apns", "token": "\#(String(repeating: token, count: 32))"\#(more.isEmpty ? "" : ", " + more)}"#
    }

    @Test func aPhoneCaresForItsOwnDevices() async throws {
        try await PhoneWorld.with { api, forge in
            let (ann, bob) = (forge.token("ann"), forge.token("bob"))
            let path = "/v1/apps/shop/devices"
            let registered = try await api.ask("PUT", path, device("ab", #""locale": "es""#), token: ann)
            let id = try registered.json["id"]?.stringValue ?? ""
            #expect(try await api.ask("PUT", path, device("ab", #""user_id": "ann""#), token: ann).status == 200)
            #expect(try await api.rows("SELECT user_id, locale FROM fanfare.devices") == [["ann", "es"]])

            #expect(try await api.ask("PUT", "\(path)/\(id)/topics/news.de", "{}", token: ann).status == 204)
            #expect(try await api.ask("PUT", "\(path)/\(id)/topics/sport", "{}", token: ann).status == 204)
            #expect(try await api.ask("PUT", "\(path)/\(id)/topics/staff", "{}", token: ann).status == 403)
            #expect(try await api.ask("PUT", "\(path)/\(id)/topics/news.de", "{}", token: bob).status == 404)
            #expect(try await api.ask("DELETE", "\(path)/\(id)/topics/sport", token: bob).status == 404)
            #expect(try await api.ask("DELETE", "\(path)/\(id)/topics/sport", token: ann).status == 204)

            let shown = try await api.ask("GET", "\(path)/\(id)", token: ann)
            #expect(try shown.json["topics"] == ["news.de"] && shown.json["attributes"] == .null)
            #expect(try await api.ask("GET", "\(path)/\(id)", token: bob).status == 404)
            #expect(try await api.ask("GET", path, token: ann).json["data"]?.arrayValue?.count == 1)
            #expect(try await api.ask("GET", path, token: bob).json["data"]?.arrayValue?.isEmpty == true)
            #expect(try await api.ask("GET", "\(path)?user_id=ann", token: bob).status == 403)

            let foreign = try await api.ask("POST", "\(path)/unregister", device("ab"), token: bob)
            #expect(try foreign.json["disabled"] == false)
            #expect(try await api.ask("DELETE", "\(path)/\(id)", token: bob).status == 404)
            let own = try await api.ask("POST", "\(path)/unregister", device("AB"), token: ann)
            #expect(try own.json["disabled"] == true)
            #expect(try await api.ask("DELETE", "\(path)/\(id)", token: ann).json["disabled"] == false)
        }
    }

    @Test func aPageThatCanNeverBeReachedIsRefused() async throws {
        try await PhoneWorld.with { api, forge in
            for (endpoint, keys, reason) in BrowserKeys.refused {
                let body = #"{"provider": "webpush", "token": "\#(endpoint)", \#(keys)}"#
                let refused = try await api.ask("PUT", "/v1/apps/shop/devices", body, token: forge.token("ann"))
                #expect(refused.status == 422 && refused.body.contains(reason), "\(refused.body)")
            }
            let body = #"{"provider": "webpush", "token": "https://push.example.com/1", \#(BrowserKeys.valid)}"#
            #expect(try await api.ask("PUT", "/v1/apps/shop/devices", body, token: forge.token("ann")).status == 200)
        }
    }

    /// Each push goes to all devices of a user, and made-up tokens are cheap: the number of devices is limited.
    @Test func theOldestOfAUsersDevicesGoes() async throws {
        try await PhoneWorld.with { api, forge in
            let path = "/v1/apps/shop/devices"
            let backend = "SELECT fanfare.register_device('shop', 'fcm', 'backend' || g, 'ann')"
            _ = try await api.rows("\(backend) FROM generate_series(1, 52) AS g")
            _ = try await api.rows("SELECT fanfare.register_device('shop', 'fcm', 'other', 'bob')")
            #expect(try await api.ask("PUT", path, device("ab"), token: forge.token("ann")).status == 200)
            let enabled = "fanfare.devices WHERE disabled_at IS NULL GROUP BY 1 ORDER BY 1"
            let counts = "SELECT user_id, count(*)::text FROM \(enabled)"
            #expect(try await api.rows(counts) == [["ann", "50"], ["bob", "1"]])
            let gone = "SELECT token, disabled_reason FROM fanfare.devices WHERE disabled_at IS NOT NULL ORDER BY id"
            #expect(try await api.rows(gone) == (1...3).map { ["backend\($0)", "unregistered"] })
        }
    }

    @Test func aDeviceMovesToWhoHoldsItsTokenAndNotToWhoHeldIt() async throws {
        try await PhoneWorld.with { api, forge in
            let (ann, bob) = (forge.token("ann"), forge.token("bob"))
            let path = "/v1/apps/shop/devices"
            #expect(try await api.ask("PUT", path, device("ab"), token: ann).status == 200)
            let old = String(repeating: "ab", count: 32)
            let stolen = try await api.ask("PUT", path, device("cd", #""replaces": "\#(old)""#), token: bob)
            #expect(stolen.status == 403)
            #expect(try await api.rows("SELECT user_id, disabled_reason FROM fanfare.devices") == [["ann", nil]])
            let rotated = try await api.ask("PUT", path, device("cd", #""replaces": "\#(old)""#), token: ann)
            #expect(rotated.status == 200)
            #expect(try await api.ask("PUT", path, device("cd"), token: bob).status == 200)
            let rows = try await api.rows("SELECT user_id, disabled_reason FROM fanfare.devices ORDER BY id")
            #expect(rows == [["ann", "reassigned"], ["bob", nil]])
        }
    }

    @Test func aRegistrationSaysNothingThatIsTheBackends() async throws {
        try await PhoneWorld.with { api, forge in
            // Two ids that Unicode treats as equal, and the database does not.
            let token = forge.token("\u{e9}")
            for more in [#""user_id": "bob""#, #""user_id": "e\u0301""#, #""attributes": {"tier": "gold"}"#] {
                let refused = try await api.ask("PUT", "/v1/apps/shop/devices", device("ab", more), token: token)
                #expect(refused.status == 403, "\(more)")
            }
            let hook = #"{"provider": "webhook", "token": "https://example.com/", "auth": "AAAA"}"#
            #expect(try await api.ask("PUT", "/v1/apps/shop/devices", hook, token: token).status == 403)
            let other = "/v1/apps/shop/users/e%CC%81/preferences"
            #expect(try await api.ask("GET", other, token: token).status == 403)
            #expect(try await api.ask("GET", "/v1/apps/shop/users/%C3%A9/preferences", token: token).status == 200)
            #expect(try await api.rows("SELECT * FROM fanfare.devices").isEmpty)
        }
    }

    @Test func aPhoneSaysWhatItsUserWants() async throws {
        try await PhoneWorld.with { api, forge in
            let ann = forge.token("ann")
            for (path, method, body) in [
                ("preferences/offers", "PUT", #"{"opted_out": true}"#), ("snooze", "POST", #"{"until": "8h"}"#),
            ] {
                #expect(try await api.ask(method, "/v1/apps/shop/users/ann/\(path)", body, token: ann).status == 204)
                #expect(try await api.ask(method, "/v1/apps/shop/users/bob/\(path)", body, token: ann).status == 403)
            }
            let said = try await api.ask("GET", "/v1/apps/shop/users/ann/preferences", token: ann)
            #expect(try said.json["data"]?.arrayValue?.count == 2)
            #expect(try await api.ask("GET", "/v1/apps/shop/users/bob/preferences", token: ann).status == 403)
            // Recorded under the user's hash, which does not identify a user who was forgotten, and under no token.
            let mark = sha256(Array("ann".utf8)).prefix(8).map { String(format: "%02x", $0) }.joined()
            let noted = try await api.rows("SELECT actor, action, token_id FROM fanfare.actions ORDER BY id")
            #expect(
                noted == [
                    ["phone of \(mark)", "preference.set", nil], ["phone of \(mark)", "preference.snooze", nil],
                ]
            )
        }
    }

    @Test func aPhoneAsksWhatWasTakenBack() async throws {
        try await PhoneWorld.with { api, forge in
            let ann = forge.token("ann")
            _ = try await api.rows("SELECT fanfare.register_device('shop', 'apns', 'abcd', 'ann')")
            _ = try await api.rows(
                """
                INSERT INTO fanfare.retracted_devices (device_id, ids, times, pending, rule_version, changed_at)
                SELECT id, '{room-5,room-6}', '{1764388800,1764388700}', 0, 1, '2025-11-29 04:00Z' FROM fanfare.devices RETURNING 1
                """
            )
            let path = "/v1/apps/shop/users/ann/retracted"
            let all = try await api.ask("GET", path, token: ann)
            let listed = try all.json["data"]?.arrayValue?.map { $0["id"]?.stringValue }
            #expect(all.status == 200 && listed == ["room-5", "room-6"], "\(all.body)")
            #expect(
                try all.json["data"]?.arrayValue?.first?["retracted_at"]?.stringValue?.hasPrefix("2025-11-29T04:00:00")
                    == true
            )
            for (since, count) in [("2025-11-29T04:00:30Z", 2), ("2025-11-29T05:00:00Z", 0), ("1h", 0)] {
                let some = try await api.ask("GET", "\(path)?since=\(since)", token: ann)
                #expect(try some.json["data"]?.arrayValue?.count == count, "\(some.body)")
            }
            for query in ["since=yesterday", "since=", "until=1h"] {
                let reply = try await api.ask("GET", "\(path)?\(query)", token: ann)
                #expect((400...422).contains(reply.status) && reply.body.contains("hint"), "\(query): \(reply.body)")
            }
            #expect(try await api.ask("GET", "/v1/apps/shop/users/bob/retracted", token: ann).status == 403)
        }
    }

    /// Every route, including new ones, rejects phone tokens unless it declares `forPhones`.
    @Test func everythingElseIsForBackends() async throws {
        try await PhoneWorld.with { api, forge in
            let ann = forge.token("ann")
            for route in try Routes.listed where route.scope != nil && !route.isForPhones {
                let path = route.path.replacing("{app}", with: "shop").replacing("{user}", with: "ann")
                    .replacing(/\{\w+\}/, with: "1")
                let reply = try await api.ask(route.method.rawValue, path, "{}", token: ann)
                #expect(reply.status == 403, "\(route.method) \(path)")
            }
            for route in try Routes.listed where route.isForPhones {
                // Another app, an app without phone tokens, and an unknown app.
                for app in ["bank", "news", "none"] {
                    let path = route.path.replacing("{app}", with: app).replacing("{user}", with: "ann")
                        .replacing(/\{\w+\}/, with: "1")
                    let reply = try await api.ask(route.method.rawValue, path, "{}", token: ann)
                    #expect(reply.status == 401 && reply.headers["www-authenticate"] != nil, "\(route.method) \(path)")
                    #expect(!reply.body.contains(ann.split(separator: ".")[1]))
                }
            }
            #expect(try await api.rows("SELECT * FROM fanfare.actions").isEmpty)
        }
    }

    @Test func keysAreRotatedWhileTheServerRuns() async throws {
        let world = try PhoneWorld()
        var times = ListenerTimes()
        times.reread = .zero
        try await APIWorld.with(world.configuration(), times: times) { api in
            let (old, new) = (world.shop, TokenForge())
            let path = "/v1/apps/shop/devices"
            #expect(try await api.ask("GET", path, token: old.token("ann")).status == 200)
            for broken in ["", "{", #"{"keys": []}"#, #"{"keys": [{"kty": "oct", "k": "AAAA"}]}"#] {
                try world.write(broken, "shop")
                #expect(try await api.ask("GET", path, token: old.token("ann")).status == 200, "\(broken)")
            }
            try FileManager.default.removeItem(at: world.file("shop"))
            #expect(try await api.ask("GET", path, token: old.token("ann")).status == 200)
            try world.write(new.keySet, "shop")
            #expect(try await api.ask("GET", path, token: old.token("ann")).status == 401)
            #expect(try await api.ask("GET", path, token: new.token("ann")).status == 200)
            // A reload may name another file, whose keys apply at once, or none.
            let bank = world.file("bank").path
            api.reload { $0.apps["shop"]?.phones.keysFile = bank }
            #expect(try await api.ask("GET", path, token: world.bank.token("ann")).status == 200)
            api.reload { $0.apps["shop"]?.phones.keysFile = nil }
            #expect(try await api.ask("GET", path, token: world.bank.token("ann")).status == 401)
        }
    }

    @Test func aUserHasALimitAndSoHasTheApp() async throws {
        let world = try PhoneWorld()
        try await APIWorld.with(world.configuration("user_rate: 1")) { api in
            let (ann, bob) = (world.shop.token("ann"), world.shop.token("bob"))
            var last: Reply?
            for _ in 0..<200 where last?.status != 429 {
                last = try await api.ask("GET", "/v1/apps/shop/users/bob/preferences", token: ann)
            }
            #expect(last?.status == 429 && last?.headers["retry-after"] == "1")
            #expect(try await api.ask("GET", "/v1/apps/shop/users/bob/preferences", token: bob).status == 200)
        }
    }

    @Test func keysThatCannotBeUsedAreFoundBeforeTheServerRuns() async throws {
        let world = try PhoneWorld()
        func items() throws -> [CheckItem] {
            PhoneCheckup.items(try world.configuration(), environment: [:])
        }
        #expect(try items().map(\.level) == [.ok, .ok])
        try world.write(world.shop.keySet, "bank")
        #expect(try items().map(\.level) == [.ok, .ok], "tokens are for one app, whatever signs them")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: world.file("bank").path)
        #expect(try items().contains { $0.level == .fail && $0.detail.contains("read by everybody") })
        try world.write(#"{"keys": [\#(world.shop.p256Key)]}"#, "bank", mode: 0o644)
        #expect(try items().allSatisfy { $0.level != .fail })
        try world.write("{}", "bank")
        #expect(try items().contains { $0.level == .fail && $0.detail.contains("has no list `keys`") })
        let error = await #expect(throws: ToolError.self) {
            try await APIWorld.with(world.configuration()) { _ in }
        }
        #expect(error?.exitCode == 78 && error?.reason.contains("apps.bank.jwt.jwks_file") == true)
    }

    /// Signs as the documentation's example does, by the library of another language.
    @Test func theBackendOfTheDocumentationSigns() async throws {
        let article = try APIArticle.text()
        let script = try #require(article.firstMatch(of: /```python\n((?s).+?)```/)?.1)
        try await PhoneWorld.with { api, forge in
            let secret = Base64URL.encode(forge.secret)
            let program = "\(script)\nprint(token_for('ann', 'shop', '\(secret)', 'h'), end='')"
            let token = try await Command.run(["python3", "-c", program]).output
            #expect(try await api.ask("GET", "/v1/apps/shop/devices", token: token).status == 200)
        }
    }
}
