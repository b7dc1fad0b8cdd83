import FanfareService
import PushTransport
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders

/// Problems with an app's credentials are reported with their line.
@Suite struct ProviderProblemTests {
    private static let key = "team_id: DEF123GHIJ, key_id: ABC123DEFG, key_file: a.p8"

    private func app(_ provider: String, _ keys: String) -> [String] {
        problems("apps:\n  shop:\n    \(provider): { \(keys) }")
    }

    @Test func aKeyAndACertificateExcludeEachOther() {
        #expect(
            app("apns", "topic: a.b, certificate_file: c.p12, \(Self.key)") == [
                "fanfare.yaml:3:43: apps.shop.apns.certificate_file: cannot stand beside `key_file`, `key_id` and "
                    + "`team_id`: APNs takes a certificate or a signing key"
            ]
        )
        #expect(
            app("apns", "topic: a.b, certificate_file: c.p12, key_id: ABC123DEFG").first?.contains("beside `key_id`:")
                == true
        )
    }

    @Test func halfAKeyIsNoKey() {
        #expect(
            app("apns", "topic: a.b, key_id: ABC123DEFG") == [
                "fanfare.yaml:3:5: apps.shop.apns.key_file: is required beside `key_id`",
                "fanfare.yaml:3:5: apps.shop.apns.team_id: is required beside `key_id`",
            ]
        )
        #expect(
            app("apns", "topic: a.b, key_file: a.p8, team_id: DEF123GHIJ") == [
                "fanfare.yaml:3:5: apps.shop.apns.key_id: is required beside `key_file` and `team_id`"
            ]
        )
    }

    @Test func aPasswordNeedsItsCertificate() {
        #expect(
            app("apns", "topic: a.b, \(Self.key), certificate_password_file: p") == [
                "fanfare.yaml:3:109: apps.shop.apns.certificate_password_file: has no effect without `certificate_file`"
            ]
        )
    }

    @Test(arguments: ["fcm", "webpush"]) func whatAProviderNeedsIsNamed(provider: String) {
        let missing = provider == "fcm" ? ["service_account_file"] : ["vapid_key_file", "subject"]
        #expect(app(provider, "") == missing.map { "fanfare.yaml:3:5: apps.shop.\(provider).\($0): is required" })
    }

    @Test(arguments: [("yes", "a string"), ("\"true\"", "a string"), ("1", "a number"), ("[true]", "a list")])
    func aFlagIsTrueOrFalse(text: String, found: String) {
        let file = "service_account_file: a.json"
        let expected = "fanfare.yaml:3:54: apps.shop.fcm.android_v2: expected true or false, found \(found)"
        #expect(app("fcm", "\(file), android_v2: \(text)") == [expected])
        for flag in ["true", "false"] { #expect(app("fcm", "\(file), android_v2: \(flag)").isEmpty) }
    }

    @Test func unknownKeysAreNamed() {
        #expect(
            app("fcm", "service_account_file: a.json, project: b") == [
                "fanfare.yaml:3:42: apps.shop.fcm.project: unknown key; known here: `service_account_file`, "
                    + "`endpoint`, `ca_file`, `android_v2`"
            ]
        )
        #expect(
            problems("apps: { shop: { web_push: {} } }").last?.hasSuffix("unknown key; did you mean `webpush`?")
                == true
        )
    }

    @Test(
        arguments: [
            ("push@example.com", ""), ("mailto:push", ""), ("mailto:@example.com", ""), ("mailto:a@b@c", ""),
            ("mailto:a@b:25", ""),
            ("http://example.com", ""), ("https://", ""), ("\"mailto:a@b c\"", ", without spaces"),
            ("mailto:<push@example.com>", ", without spaces"), ("https://localhost/", ", found localhost"),
            ("mailto:root@localhost", ", found localhost"),
        ]
    ) func aSubjectIsAnAddressOrAURL(subject: String, reason: String) {
        let found = app("webpush", "vapid_key_file: v.pem, subject: \(subject)")
        let expected = "fanfare.yaml:3:48: apps.shop.webpush.subject: expected mailto:NAME@DOMAIN or https://HOST/…"
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix(expected + reason) == true, "\(found)")
    }

    @Test(
        arguments: [
            ("allowed_hosts: [push.example.com, 'https://a.b']", 92, "\"https://a.b\" is not a host; give a name"),
            ("allowed_hosts: [push.example.com, '*x.b']", 92, "\"*x.b\" is not a host; give a name"),
            ("allowed_hosts: [a.example, a.example]", 85, "“a.example” is listed twice"),
            ("allowed_hosts: []", 73, "expected at least 1, found none"),
            ("allowed_networks: [10.1.0.0/8]", 77, "\"10.1.0.0/8\" is not a network; give a block"),
            ("allowed_networks: [localhost]", 77, "\"localhost\" is not a network; give a block"),
            ("allowed_networks: 127.0.0.1/8", 76, "expected a list of strings, found a string"),
        ]
    ) func hostsAndNetworksAreChecked(keys: String, column: Int, reason: String) {
        let found = app("webpush", "vapid_key_file: v, subject: 'mailto:a@b', \(keys)")
        let name = keys.prefix { $0 != ":" }
        #expect(found.count == 1)
        #expect(
            found.first?.hasPrefix("fanfare.yaml:3:\(column): apps.shop.webpush.\(name): \(reason)") == true,
            "\(found)"
        )
    }

    @Test func anElementOfAListIsNamedByItsOwnLine() {
        let yaml = """
            apps:
              shop:
                webpush:
                  vapid_key_file: v.pem
                  subject: https://example.com/push
                  allowed_networks:
                    - 127.0.0.1/32
                    - 127.0.0.1/33
            """
        #expect(problems(yaml).first?.hasPrefix("fanfare.yaml:8:11: apps.shop.webpush.allowed_networks: ") == true)
    }

    @Test func filesExpandVariablesAndAreRelativeToTheFile() throws {
        let yaml = """
            apps:
              shop:
                apns: { topic: a.b, certificate_file: "${HERE}/c.p12", certificate_password_file: p }
                fcm: { service_account_file: "${HERE}/sa.json", ca_file: ca.pem }
                webpush: { vapid_key_file: "${HERE}/v.pem", subject: "mailto:push@example.com?subject=x" }
            """
        let loaded = try Configuration.parse(
            yaml,
            named: "fanfare.yaml",
            directory: "/etc/fanfare",
            environment: [
                "DATABASE_URL": "postgres:///app", "HERE": "/run/credentials",
                "FANFARE_APPS__SHOP__WEBPUSH__ALLOWED_HOSTS": "*.push.example, other.example:8443",
                "FANFARE_APPS__SHOP__FCM__ENDPOINT": "https://gateway.example",
            ]
        )
        let shop = try #require(loaded.apps["shop"])
        #expect(shop.apns?.certificateFile == "/run/credentials/c.p12")
        #expect(shop.apns?.certificatePasswordFile == "/etc/fanfare/p")
        #expect(shop.apns?.keyFile == "")
        #expect(shop.fcm?.serviceAccountFile == "/run/credentials/sa.json")
        #expect(shop.fcm?.caFile == "/etc/fanfare/ca.pem")
        #expect(shop.fcm?.endpoint == (try Endpoint("https://gateway.example")))
        #expect(shop.webPush?.vapidKeyFile == "/run/credentials/v.pem")
        #expect(shop.webPush?.allowedHosts == ["*.push.example", "other.example:8443"])
        #expect(shop.webPush?.allowedNetworks == [])
        let same = try Configuration.parse(
            "apps: { shop: { webpush: { vapid_key_file: v, subject: 'mailto:a@b' } } }",
            named: "fanfare.yaml",
            directory: "/",
            environment: ["DATABASE_URL": "postgres:///app"]
        )
        #expect(same.apps["shop"]?.webPush?.allowedHosts == WebPushSettings.services)
        let changes = same.changes(from: loaded).filter { $0.key.hasPrefix("apps.shop.") }
        #expect(changes.allSatisfy { !$0.needsRestart })
        #expect(
            changes.contains { $0.description == "apps.shop.apns.certificate_password_file: /etc/fanfare/p → none" }
        )
        #expect(changes.contains { $0.key == "apps.shop.webpush.subject" && $0.to == "mailto:a@b" })
    }
}
