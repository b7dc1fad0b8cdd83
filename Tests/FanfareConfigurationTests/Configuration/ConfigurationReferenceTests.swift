import PushTransport
import Testing

@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

@Suite struct ConfigurationReferenceTests {
    @Test func everyKeyIsDescribedInTheFixedFormat() {
        let all = ([Configuration.reference] + Providers.all.map(\.block.reference)).joined(separator: "\n")
        let lines = all.split(separator: "\n")
        #expect(lines.count == ConfigurationSchema.all.keys.count)
        for line in lines {
            #expect(line.wholeMatch(of: /\* `[a-z0-9_.<>]+` \([^)]+\): .+\./) != nil, "\(line)")
        }
        #expect(
            lines.contains(
                "* `send.threads` (integer, optional, default: 2, 1–64): Maximum number of sender threads for each app, provider and environment. A change needs a restart."
            )
        )
        #expect(
            lines.contains {
                $0.hasPrefix("* `apps.<name>.apns.endpoint` (URL, optional, default: https://api.push.apple.com, ")
            }
        )
        #expect(lines.contains { $0.hasPrefix("* `retention.keys` (duration, optional, default: 7d, 1m–365d): ") })
        #expect(lines.contains { $0.hasPrefix("* `database.url` (URL, required, postgres://") })
    }

    @Test func everyDefaultIsItselfAllowed() throws {
        for key in ConfigurationSchema.all.keys {
            guard let standard = key.standard, key.type != "list of strings" else { continue }
            var stored = Configuration()
            try key.store(&stored, "app", .plain(standard), ConfigurationPlace(directory: "/", environment: [:]))
            #expect(key.show(stored, "app") == standard, "\(key.name)")
        }
    }

    @Test func environmentNamesFollowThePath() {
        let names = ConfigurationSchema.all.keys.map(\.environmentName)
        #expect(names.contains("FANFARE_LOG__LEVEL"))
        #expect(names.contains("FANFARE_APPS__<NAME>__APNS__KEY_FILE"))
        #expect(Set(names).count == names.count)
    }

    @Test func aReloadIsComparedKeyByKey() throws {
        let app = "{ apns: { team_id: DEF123GHIJ, key_id: ABC123DEFG, key_file: /a.p8, topic: com.example } }"
        let old = try configuration("database: { url: 'postgres://a:x@db/app' }\napps: { shop: \(app) }")
        let new = try configuration(
            """
            database: { url: 'postgres://a:y@db/app' }
            apps: { shop: \(app.replacing("/a.p8", with: "/b.p8")), news: \(app) }
            log: { level: debug }
            """
        )
        #expect(old.changes(from: old).isEmpty)
        let changes = new.changes(from: old)
        #expect(
            changes.filter { !$0.key.hasPrefix("apps.news.") }.map(\.description) == [
                "database.url: postgres://a:***@db/app → postgres://a:***@db/app (needs a restart)",
                "apps.shop.apns.key_file: /a.p8 → /b.p8",
                "log.level: info → debug",
            ]
        )
        #expect(changes.contains { $0.key == "apps.news.apns.topic" && $0.from == nil && $0.to == "com.example" })
        #expect(changes.filter(\.needsRestart).map(\.key) == ["database.url"])
    }

    @Test(
        arguments: [
            "http://api.push.apple.com", "https://", "https://host/path", "https://u:p@host", "https://host?x", "host",
            "https://host:0", "https://host:70000",
        ]
    ) func otherURLsAreNoEndpoints(text: String) {
        #expect(throws: EndpointError.self) { try Endpoint(text) }
    }
}
