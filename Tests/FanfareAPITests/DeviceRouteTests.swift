import FanfareCore
import FanfareProviders
import FanfareService
import FanfareStages
import FanfareStore
import FanfareTools
import Foundation
import Logging
import PostgresClient
import TestKit
import Testing

@testable import APIKit

@Suite(.database) struct DeviceRouteTests {
    private func device(_ token: String, _ more: String = "") -> String {
        #"{"provider": "apns", "token": "\#(String(repeating: token, count: 32))"\#(more.isEmpty ? "" : ", " + more)}"#
    }

    @Test func topicsMayComeWithTheRegistration() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.registrar, .reader)
            let path = "/v1/apps/shop/devices"
            let first = try await api.ask("PUT", path, device("ab", #""topics": ["news", "sport"]"#), token: token)
            let id = try first.json["id"]?.stringValue ?? ""
            _ = try await api.ask("PUT", path, device("ab", #""topics": ["de"]"#), token: token)
            _ = try await api.ask("PUT", path, device("cd", #""topics": []"#), token: token)
            let shown = try await api.ask("GET", "\(path)/\(id)", token: token)
            #expect(try shown.json["topics"] == ["de", "news", "sport"])
            let followers = try await api.ask("GET", "\(path)?topic=sport", token: token)
            #expect(try followers.json["data"]?.arrayValue?.map { $0["id"]?.stringValue } == [id])
            for topics in [
                #"["a b"]"#, "[7]", #""news""#, "[\(Array(repeating: #""t""#, count: 101).joined(separator: ","))]",
            ] {
                let refused = try await api.ask("PUT", path, device("ef", #""topics": \#(topics)"#), token: token)
                #expect(refused.status == 422, "\(topics)")
            }
            #expect(try await api.rows("SELECT count(*) FROM fanfare.devices") == [["2"]])
        }
    }

    @Test func aFIDKeepsTheDeviceOfItsToken() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.registrar, .reader)
            let path = "/v1/apps/shop/devices"
            func register(_ address: String, _ more: String) async throws -> (status: Int?, body: JSONValue) {
                let body = #"{"provider": "fcm", "token": "\#(address)"\#(more)}"#
                let answer = try await api.ask("PUT", path, body, token: token)
                return (answer.status, try answer.json)
            }
            let id = try await register("X:one", "").body["id"]?.stringValue ?? ""
            let moved = try await register("X", #", "address": "fid""#).body
            #expect(moved["id"]?.stringValue == id)
            #expect(try await api.ask("GET", "\(path)/\(id)", token: token).json["address"] == "fid")
            // An SDK that gives a token as the FID: registered, and said.
            let mistaken = try await register("X:two", #", "address": "fid""#).body
            #expect(mistaken["id"]?.stringValue == id)
            #expect(mistaken["notes"]?.text.contains("has a colon") == true, "\(mistaken.text)")
            #expect(try await api.ask("GET", "\(path)/\(id)", token: token).json["address"] == "token")
            for more in [#", "address": "fax""#, #", "address": 7"#] {
                #expect(try await register("Y", more).status == 422, "\(more)")
            }
            #expect(try await register("a.b", #", "address": "fid""#).status == 422)
        }
    }

    @Test func aDeviceGoesThroughItsLife() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.registrar, .reader)
            let path = "/v1/apps/shop/devices"
            let more = #""user_id": "u/1", "locale": "es", "attributes": {"tier": "gold"}"#
            let registered = try await api.ask("PUT", path, device("ab", more), token: token)
            let id = try registered.json["id"]?.stringValue ?? ""
            let shown = try await api.ask("GET", "\(path)/\(id)", token: token)
            #expect(try shown.json["user_id"] == "u/1" && shown.json["attributes"]?["tier"] == "gold")
            #expect(!shown.body.contains("abababab"))
            #expect(try await api.ask("GET", "/v1/apps/bank/devices/\(id)", token: token).status == 404)

            // Registered again, then with a rotated token: the id stays. Moved to another user: a new id.
            let again = try await api.ask("PUT", path, device("ab"), token: token)
            let replaced = String(repeating: "ab", count: 32)
            let rotated = try await api.ask("PUT", path, device("cd", #""replaces": "\#(replaced)""#), token: token)
            #expect(try again.json["id"]?.stringValue == id && rotated.json["id"]?.stringValue == id)
            let moved = try await api.ask("PUT", path, device("cd", #""user_id": "other""#), token: token)
            let other = try moved.json["id"]?.stringValue ?? ""
            #expect(other != id)

            #expect(try await api.ask("PUT", "\(path)/\(other)/topics/news", "{}", token: token).status == 204)
            let bulk = #"{"device_ids": ["\#(other)"]}"#
            let twice = try await api.ask("POST", "/v1/apps/shop/topics/news/subscribe", bulk, token: token)
            #expect(try twice.json["changed"] == 0)
            #expect(try await api.ask("GET", "\(path)/\(other)", token: token).json["topics"] == ["news"])
            #expect(try await api.ask("DELETE", "\(path)/\(other)/topics/news", token: token).status == 204)
            let foreign = #"{"device_ids": ["\#(other)", 999999]}"#
            let refused = try await api.ask("POST", "/v1/apps/shop/topics/news/subscribe", foreign, token: token)
            #expect(refused.status == 404 && refused.body.contains("999999"))

            let ended = try await api.ask("POST", "\(path)/unregister", device("cd"), token: token)
            #expect(try ended.json["disabled"] == true)
            #expect(
                try await api.ask("GET", "\(path)/\(other)", token: token).json["disabled_reason"] == "unregistered"
            )

            _ = try await api.ask("PUT", path, device("cd"), token: token)
            #expect(try await api.ask("DELETE", "/v1/apps/bank/devices/\(other)", token: token).status == 404)
            #expect(try await api.ask("DELETE", "\(path)/\(other)", token: token).json["disabled"] == true)
            #expect(try await api.ask("DELETE", "\(path)/\(other)", token: token).json["disabled"] == false)
        }
    }

    @Test func whatMayBeAmissIsToldInTheAnswer() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.registrar)
            let more = #""locale": "spanish!", "time_zone": "Mars/Olympus""#
            let first = try await api.ask("PUT", "/v1/apps/shopp/devices", device("ab", more), token: token)
            let notes = try first.json["notes"]?.arrayValue?.compactMap(\.stringValue) ?? []
            #expect(notes.count == 3, "\(notes)")
            #expect(notes.contains { $0.hasPrefix(#"the app "shopp" is new; "#) })
            #expect(notes.contains { $0.contains("'spanish!'") } && notes.contains { $0.contains("'Mars/Olympus'") })
            let second = try await api.ask("PUT", "/v1/apps/shopp/devices", device("cd"), token: token)
            #expect(try second.json["notes"] == nil && second.json["id"] != nil)
        }
    }

    @Test func anAppIsTheConfigurations() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).pem").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        let key = try NewVAPIDKey(file: file).publicKey
        let block = "apps:\n  shop:\n    webpush: { vapid_key_file: \(file), subject: 'mailto:a@example.com' }\n"
        try await APIWorld.with(APIWorld.configuration(block)) { api in
            let token = try await api.token(.reader)
            let app = try await api.ask("GET", "/v1/apps/shop", token: token).json
            #expect(app == ["name": "shop", "providers": ["webpush"], "webpush_public_key": .string(key)])
            #expect(try await api.ask("GET", "/v1/apps/bank", token: token).status == 404)
        }
    }

    @Test func listsGoOnBehindACursorThatNobodyCanMakeUp() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.reader)
            try await onThread { [database = TestDatabase.current] in
                let connection = try database.connect()
                for name in ["aa", "bb", "cc", "dd", "ee"] {
                    _ = try connection.query("SELECT fanfare.register_device('shop', 'apns', $1, 'u')", name)
                }
            }
            var seen: [String] = []
            var after = ""
            repeat {
                let target = "/v1/apps/shop/devices?user_id=u&limit=2\(after)"
                let page = try await api.ask("GET", target, token: token).json
                seen += page["data"]?.arrayValue?.compactMap { $0["token_hash"]?.stringValue } ?? []
                after = page["next"]?.stringValue.map { "&after=\($0)" } ?? ""
                guard let next = page["next"]?.stringValue else { break }
                // Another list's cursor, another filter's, and a changed position.
                let number = next.split(separator: ".")[0]
                for wrong in [
                    "/v1/apps/bank/devices?user_id=u&after=\(next)", "/v1/apps/shop/devices?user_id=v&after=\(next)",
                    "/v1/apps/shop/devices?user_id=u&after=9\(next)",
                    "/v1/apps/shop/devices?user_id=u&after=\(number).x",
                    "/v1/apps/shop/devices?after=", "/v1/apps/shop/devices?limit=0", "/v1/apps/shop/devices?users=u",
                ] {
                    #expect(try await api.ask("GET", wrong, token: token).status == 400, "\(wrong)")
                }
            } while !after.isEmpty && seen.count < 10
            #expect(seen.count == 5 && Set(seen).count == 5)
        }
    }

    @Test func whatSQLRefusesIsToldWithItsHint() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.registrar)
            let path = "/v1/apps/shop/devices"
            let reply = try await api.ask("PUT", path, #"{"provider": "apns", "token": "xyz"}"#, token: token)
            #expect(reply.status == 422)
            #expect(try reply.json["sqlstate"] == "22023" && reply.json["hint"]?.stringValue?.isEmpty == false)
            let unknown = try await api.ask("PUT", path, #"{"provider": "palm", "token": "xyz"}"#, token: token)
            #expect(unknown.status == 422 && unknown.body.contains("webpush"))
            let odd = try await api.ask("PUT", "/v1/apps/a%20b/devices", device("ab"), token: token)
            #expect(odd.status == 422)
        }
    }

    /// SQL cannot check points on curves; the daemon can.
    @Test func aBrowserThatCanNeverBeReachedIsRefused() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.registrar)
            func register(_ endpoint: String, _ keys: String) async throws -> (status: Int, text: String) {
                let body = #"{"provider": "webpush", "token": "\#(endpoint)", \#(keys)}"#
                let reply = try await api.ask("PUT", "/v1/apps/shop/devices", body, token: token)
                return (reply.status, reply.body)
            }
            for (endpoint, keys, reason) in BrowserKeys.refused {
                let (status, text) = try await register(endpoint, keys)
                #expect(status == 422 && text.contains(reason), "\(text)")
                #expect(text.contains("subscri"), "it says how to fix it: \(text)")
            }
            #expect(try await api.rows("SELECT * FROM fanfare.devices").isEmpty)
            let (status, text) = try await register("https://push.example.com/1", BrowserKeys.valid)
            #expect(status == 200, "\(text)")
        }
    }

    @Test func anOperatorRestoresWhatWasPruned() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.operator)
            try await onThread { [database = TestDatabase.current] in
                let connection = try database.connect()
                _ = try connection.query("SELECT fanfare.register_device('shop', 'apns', 'aa')")
                try connection.execute(
                    "UPDATE fanfare.devices SET disabled_at = now(), disabled_reason = 'Unregistered'"
                )
            }
            let path = "/v1/apps/shop/devices/restore"
            let counted = try await api.ask("POST", path, #"{"since": "1h", "dry_run": true}"#, token: token)
            #expect(try counted.json["devices"] == 1)
            let restored = try await api.ask("POST", path, #"{"since": "1h"}"#, token: token)
            #expect(try restored.json["reasons"]?["Unregistered"] == 1)
            #expect(try await api.rows("SELECT disabled_at FROM fanfare.devices") == [[nil]])
            let never = try await api.ask("POST", path, #"{"since": "a fortnight hence"}"#, token: token)
            #expect(never.status == 422)
        }
    }
}

@Suite(.database) struct UserRouteTests {
    @Test func whatAUserSaysIsKeptAndForgotten() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.registrar, .reader)
            let path = "/v1/apps/shop/users/ann%2F1"
            let out = try await api.ask("PUT", "\(path)/preferences/offers", #"{"opted_out": true}"#, token: token)
            #expect(out.status == 204 && out.body.isEmpty)
            #expect(try await api.ask("POST", "\(path)/snooze", #"{"until": "8h"}"#, token: token).status == 204)
            let said = try await api.ask("GET", "\(path)/preferences", token: token)
            #expect(try said.json["data"]?.arrayValue?.count == 2)
            #expect(try await api.rows("SELECT DISTINCT user_id FROM fanfare.preferences") == [["ann/1"]])
            let wrong = try await api.ask("POST", "\(path)/snooze", #"{"until": "infinity"}"#, token: token)
            #expect(wrong.status == 422 && wrong.body.contains("/until: is neither a time nor a duration"))
            let forgotten = try await api.ask("DELETE", path, token: token)
            #expect(try forgotten.json["devices"] == 0)
            #expect(try await api.rows("SELECT * FROM fanfare.preferences").isEmpty)
        }
    }
}

/// Keys of browsers, as members of a registration.
enum BrowserKeys {
    private static let auth = #""auth": "BTBZMqHH6r4Tts7J_aSIgg""#
    /// 65 bytes that begin with 4 and are not a point on P-256.
    private static let offCurve = #""p256dh": "BAEB\#(String(repeating: "AQEB", count: 20))AQE""#
    private static let onCurve =
        #""p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4""#

    /// Keys from RFC 8291.
    static let valid = "\(onCurve), \(auth)"
    /// Endpoints and keys that no push can reach, each with the reason.
    static let refused = [
        ("https://push.example.com/1", "\(offCurve), \(auth)", "p256dh is not a point of P-256"),
        ("https://push.example.com/1", #"\#(onCurve), "auth": "c2hvcnQ""#, "auth is not an authentication secret"),
        (
            "https://permanently-removed.invalid/fcm/send/x", valid,
            "token names a host below .invalid, which never exists"
        ),
    ]
}
