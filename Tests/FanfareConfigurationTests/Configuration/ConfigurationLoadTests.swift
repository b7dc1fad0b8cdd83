import FanfareService
import Foundation
import Logging
import PushTransport
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders

/// Reads a configuration of `/etc/fanfare/fanfare.yaml` without touching the disk.
func configuration(
    _ yaml: String?,
    environment: [String: String] = [:],
    flags: [String: String] = [:]
) throws(ConfigurationError) -> Configuration {
    try Configuration.parse(
        yaml,
        named: "fanfare.yaml",
        directory: "/etc/fanfare",
        environment: environment,
        flags: flags
    )
}

/// Returns the problems for which a configuration is rejected; none if it is accepted.
func problems(
    _ yaml: String?,
    environment: [String: String] = ["DATABASE_URL": "postgres:///app"],
    flags: [String: String] = [:]
) -> [String] {
    do {
        _ = try configuration(yaml, environment: environment, flags: flags)
        return []
    } catch {
        return error.problems.map(\.description)
    }
}

@Suite struct ConfigurationLoadTests {
    @Test func everyKeyOfTheFileArrives() throws {
        let loaded = try configuration(
            """
            installation: production
            database: { url: "postgres:///app", password_file: "${CREDENTIALS_DIRECTORY}/db", connections: 8 }
            listen: [orders, "Mixed Case"]
            apps:
              shop:
                apns:
                  team_id: DEF123GHIJ
                  key_id: 1234567890
                  key_file: keys/AuthKey.p8
                  topic: com.example.shop
                  endpoint: https://127.0.0.1:8443
                  sandbox_endpoint: https://[::1]:8443/
                  ca_file: /tmp/ca.pem
            send: { threads: 3, connections: 4, streams: 50, batch: 500, unrecorded: 1024, proxy: "http://[::1]:3128" }
            retry: { attempts: 5 }
            retention: { keys: 36h, log: 14d }
            log: { level: debug, format: text, deliveries: all }
            """,
            environment: ["CREDENTIALS_DIRECTORY": "/run/credentials/fanfare.service"]
        )
        #expect(loaded.installation == "production")
        #expect(loaded.database.url.connectionString == "postgres:///app")
        #expect(loaded.database.passwordFile == "/run/credentials/fanfare.service/db")
        #expect(loaded.database.connections == 8)
        #expect(loaded.listen == ["orders", "Mixed Case"])
        let apns = try #require(loaded.apps["shop"]?.apns)
        #expect(apns.teamID == "DEF123GHIJ")
        #expect(apns.keyID == "1234567890")
        #expect(apns.keyFile == "/etc/fanfare/keys/AuthKey.p8")
        #expect(apns.topic == "com.example.shop")
        #expect(apns.endpoint.description == "https://127.0.0.1:8443")
        #expect(apns.sandboxEndpoint.description == "https://[::1]:8443")
        #expect(apns.caFile == "/tmp/ca.pem")
        #expect(loaded.send.threads == 3)
        #expect(loaded.send.connections == 4)
        #expect(loaded.send.streams == 50)
        #expect(loaded.send.batch == 500)
        #expect(loaded.send.unrecorded == 1024)
        #expect(loaded.send.proxy?.description == "http://[::1]:3128")
        #expect(loaded.retry.attempts == 5)
        #expect(loaded.retention.keys == .seconds(36 * 3600))
        #expect(loaded.retention.log == .seconds(14 * 86_400))
        #expect(loaded.log.level == .debug)
        #expect(loaded.log.format == .text)
        #expect(loaded.log.deliveries == .all)
        #expect(loaded.warnings.isEmpty)
    }

    @Test func webPushBesideAProxyIsWarnedAbout() throws {
        let app = "apps: { shop: { webpush: { vapid_key_file: /k.pem, subject: \"mailto:push@example.com\" } } }\n"
        let environment = ["DATABASE_URL": "postgres:///app"]
        #expect(try configuration(app, environment: environment).warnings.isEmpty)
        let loaded = try configuration(app + "send: { proxy: \"http://proxy:3128\" }", environment: environment)
        #expect(loaded.warnings.count == 1)
        #expect(loaded.warnings.first?.hasPrefix("send.proxy: Web Push connects directly") == true)
    }

    /// The password is read for each connection, so that it can change.
    @Test func aProxysPasswordIsReadFromItsFile() throws {
        let folder = NSTemporaryDirectory() + "fanfare-proxy-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/password"
        func write(_ text: String, mode: Int) throws {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
        let loaded = try configuration(
            "send: { proxy: \"http://user@proxy:3128\", proxy_password_file: \"\(path)\" }",
            environment: ["DATABASE_URL": "postgres:///app"]
        )
        let proxy = try #require(loaded.send.proxy)
        try write("first\n", mode: 0o600)
        #expect(try proxy.credentials() == "user:first")
        try write("second", mode: 0o640)
        #expect(try proxy.credentials() == "user:second")
        try write("third", mode: 0o644)
        let error = #expect(throws: TransportError.self) { try proxy.credentials() }
        #expect(error?.description.contains("may be read by everybody") == true)
        #expect(error?.description.contains("third") == false)
    }

    @Test func withoutAFileTheDefaultsHold() throws {
        let loaded = try configuration(nil, environment: ["DATABASE_URL": "postgres:///app"])
        #expect(loaded.database.connections == 4)
        #expect(loaded.send == Configuration.Send())
        #expect(loaded.send.unrecorded == 4096)
        #expect(loaded.retention.keys == .seconds(7 * 86_400))
        #expect(loaded.retention.log == .seconds(30 * 86_400))
        #expect(loaded.log.level == .info)
        #expect(loaded.apps.isEmpty)
        #expect(loaded.installation == nil)
    }

    @Test func environmentWinsOverTheFileAndFlagsOverBoth() throws {
        let yaml = "database: { url: postgres:///file }\nlog: { level: info, format: json }"
        let environment = [
            "DATABASE_URL": "postgres:///environment", "FANFARE_LOG__LEVEL": "warning", "FANFARE_LOG__FORMAT": "text",
            "FANFARE_LISTEN": "orders, invoices",
        ]
        let loaded = try configuration(yaml, environment: environment, flags: ["log.level": "trace"])
        #expect(loaded.database.url.connectionString == "postgres:///environment")
        #expect(loaded.log.format == .text)
        #expect(loaded.log.level == .trace)
        #expect(loaded.listen == ["orders", "invoices"])
        let both = environment.merging(["FANFARE_DATABASE__URL": "postgres:///own"]) { $1 }
        #expect(try configuration(yaml, environment: both).database.url.connectionString == "postgres:///own")
    }

    @Test func environmentReachesIntoApps() throws {
        let yaml = """
            apps:
              my-shop:
                apns: { team_id: DEF123GHIJ, key_id: ABC123DEFG, key_file: a.p8, topic: com.example.shop }
            """
        let loaded = try configuration(
            yaml,
            environment: [
                "DATABASE_URL": "postgres:///app",
                "FANFARE_APPS__MY_SHOP__APNS__TOPIC": "com.example.other",
                "FANFARE_APPS__NEWS__APNS__TOPIC": "com.example.news",
                "FANFARE_APPS__NEWS__APNS__TEAM_ID": "DEF123GHIJ",
                "FANFARE_APPS__NEWS__APNS__KEY_ID": "ABC123DEFG",
                "FANFARE_APPS__NEWS__APNS__KEY_FILE": "/keys/news.p8",
            ]
        )
        #expect(loaded.apps.keys.sorted() == ["my-shop", "news"])
        #expect(loaded.apps["my-shop"]?.apns?.topic == "com.example.other")
        #expect(loaded.apps["my-shop"]?.apns?.keyFile == "/etc/fanfare/a.p8")
        #expect(loaded.apps["news"]?.apns?.keyFile == "/keys/news.p8")
    }

    @Test func variablesThatContainerPlatformsSetAreLeftAlone() {
        let environment = [
            "DATABASE_URL": "postgres:///app", "FANFARE_SERVICE_HOST": "10.0.0.1", "FANFARE_PORT": "tcp://10.0.0.1:80",
            "FANFARE_LOG__LEVEL": "",
        ]
        #expect(problems(nil, environment: environment).isEmpty)
    }

    @Test func filesAreReadRelativeToTheirFolder() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "fanfare.yaml").path
        try "database: { url: 'postgres:///app', password_file: db }".write(
            toFile: file,
            atomically: true,
            encoding: .utf8
        )
        let loaded = try Configuration.load(file: file, environment: [:])
        #expect(loaded.database.passwordFile == folder.appending(path: "db").path)

        let missing = folder.appending(path: "none.yaml").path
        #expect {
            try Configuration.load(file: missing, environment: [:])
        } throws: {
            "\($0)" == "\(missing): there is no such file"
        }
    }
}
