import FanfareConfiguration
import FanfareCore
import FanfareService
import Foundation
import Testing

@testable import DaemonKit
@testable import FanfareProviders

@Suite struct ConfigurationProblemTests {
    @Test func unknownKeysAreNamedWithTheirPlaceAndTheNearestName() {
        #expect(
            problems("log:\n  levl: debug\n")
                == ["fanfare.yaml:2:3: log.levl: unknown key; did you mean `level`?"]
        )
        #expect(problems("level: debug") == ["fanfare.yaml:1:1: level: unknown key; did you mean `log.level`?"])
        #expect(
            problems("retry: { jitter: 3 }")
                == ["fanfare.yaml:1:10: retry.jitter: unknown key; known here: `attempts`"]
        )
        let providers = Providers.names.map { "`\($0.rawValue)`" }.joined(separator: ", ")
        #expect(
            problems("apps: { shop: { topic: com.example } }")
                == [
                    "fanfare.yaml:1:9: apps.shop: has no provider; known here: \(providers)",
                    "fanfare.yaml:1:17: apps.shop.topic: unknown key; did you mean `apps.<name>.apns.topic`?",
                ]
        )
    }

    @Test func duplicateKeysAreNamedWithBothLinesBesideAllOtherProblems() {
        let yaml = """
            log: { level: info }
            send:
              threads: 2
              batch: 0
              threads: 3
              "threads": 4
            log: { format: json }
            """
        #expect(
            problems(yaml) == [
                "fanfare.yaml:4:10: send.batch: expected an integer from 1 to 1000, found 0",
                "fanfare.yaml:5:3: send.threads: duplicate key; it was first set in line 3",
                "fanfare.yaml:6:3: send.threads: duplicate key; it was first set in line 3",
                "fanfare.yaml:7:1: log: duplicate key; it was first set in line 1",
            ]
        )
    }

    @Test(
        arguments: [
            ("send: { threads: two }", "1:18: send.threads: expected an integer from 1 to 64, found a string"),
            ("send: { threads: \"2\" }", "1:18: send.threads: expected an integer from 1 to 64, found a string"),
            ("send: { threads: 2.5 }", "1:18: send.threads: expected an integer from 1 to 64, found 2.5"),
            ("send: { threads: 65 }", "1:18: send.threads: expected an integer from 1 to 64, found 65"),
            ("send: { threads: [2] }", "1:18: send.threads: expected an integer from 1 to 64, found a list"),
            ("send:\n  threads:\n", "2:11: send.threads: expected an integer from 1 to 64, found nothing"),
            (
                "send: { proxy: \"http://proxy\" }",
                "1:16: send.proxy: expected http://HOST:PORT or https://HOST:PORT, found no port from 1 to 65535"
            ),
            (
                "send: { proxy: \"http://user@proxy:3128\" }",
                "1:16: send.proxy_password_file: is required beside the user in send.proxy"
            ),
            (
                "send: { proxy: \"http://proxy:3128\", proxy_password_file: /p }",
                "1:58: send.proxy_password_file: needs a user in send.proxy, as in http://USER@HOST:PORT"
            ),
            (
                "send: { proxy_password_file: /p }",
                "1:30: send.proxy_password_file: needs a user in send.proxy, as in http://USER@HOST:PORT"
            ),
            ("send: 5", "1:7: send: expected a mapping of keys to values, found a number"),
            ("- send", "1:1: expected a mapping of keys to values, found a list"),
            ("listen: orders", "1:9: listen: expected a list of strings, found a string"),
            ("listen: [a, b, a]", "1:9: listen: “a” is listed twice"),
            (
                "installation: true",
                "1:15: installation: expected 1 to 64 letters, digits, dots, dashes and underscores, "
                    + "found a boolean; quote it if it is text"
            ),
            (
                "apps: { a: { apns: { team_id: MIGTAgEAMBMG, key_id: ABC1123DEF, key_file: a, topic: a.b } } }",
                "1:31: apps.a.apns.team_id: expected 10 capital letters and digits, found 12 characters"
            ),
            (
                "retention: { log: 36h }",
                "1:19: retention.log: expected a duration from 1d to 30d in steps of 1d, "
                    + "such as 90s, 15m, 4h or 7d, found 36h"
            ),
            (
                "retention: { keys: 7 }",
                "1:20: retention.keys: expected a duration from 1m to 365d, such as 90s, 15m, 4h or 7d, found 7"
            ),
            (
                "log: { deliveries: failure }",
                "1:20: log.deliveries: expected one of all, failures, none, found “failure”; "
                    + "did you mean “failures”?"
            ),
        ]
    ) func wrongValuesAreNamedWithWhatWasExpected(yaml: String, message: String) {
        #expect(problems(yaml) == ["fanfare.yaml:" + message])
    }

    @Test(arguments: ["sh*", "*.paid", "shop.*.paid", "shop*.*", ".*", "**", "shop.\u{202E}x"])
    func eventsStandWholeOrByTheirBeginning(pattern: String) {
        let found = problems("apps: { shop: { events: [ok, \"\(pattern)\"], fcm: { service_account_file: a } } }")
        #expect(
            found == [
                "fanfare.yaml:1:30: apps.shop.events: expected an event type such as order.paid, "
                    + "or shop.* for all that begin with shop., or * for all, found “\(pattern)”"
            ]
        )
        let fine = #"apps: { shop: { events: [order.paid, "shop.*", "*"], fcm: { service_account_file: a } } }"#
        #expect(problems(fine).isEmpty)
    }

    @Test(
        arguments: [
            ("*", "found “*”: name each origin, since any page could call otherwise"),
            ("null", "found “null”: any page can send this, from a sandboxed frame"),
            ("https://*.shop.example", "found “https://*.shop.example”"), ("shop.example", "found “shop.example”"),
            ("file://", "found “file://”"), ("https://ann@shop.example", "found “https://ann@shop.example”"),
            ("https://shop.example/", "found “https://shop.example/”: remove the path, and the last slash too"),
            ("https://Shop.example", "found “https://Shop.example”: browsers send scheme and host in lower case"),
            ("https://shop.example:443", "found “https://shop.example:443”: remove :443, which browsers do not send"),
            ("http://a:65536", "found “http://a:65536”: a port has at most 65535"),
            ("http://a:0", "found “http://a:0”"),
        ]
    ) func anOriginIsSpelledAsBrowsersSendIt(origin: String, found: String) {
        #expect(
            problems("api: { origins: [ \"https://ok.example\", \"\(origin)\" ] }") == [
                "fanfare.yaml:1:41: api.origins: expected an origin such as https://shop.example "
                    + "or http://localhost:3000, \(found)"
            ]
        )
        let fine = #"["https://a.example:8443", "http://localhost:3000", "http://[::1]:81", "capacitor://localhost"]"#
        #expect(problems("api: { origins: \(fine) }").isEmpty)
        #expect(problems("api: { origins: [ \"http://a\", \"http://a\" ] }").count == 1)
    }

    @Test func charactersThatAreNotAllowedAreNamed() {
        #expect(
            problems("installation: pro duction") == [
                "fanfare.yaml:1:15: installation: expected 1 to 64 letters, digits, dots, dashes and underscores, "
                    + "found “ ” in it"
            ]
        )
    }

    @Test func environmentAndFlagsAreNamedAsSuch() {
        let environment = [
            "DATABASE_URL": "postgres:///app", "FANFARE_LOG__LEVLE": "debug", "FANFARE_SEND__THREADS": "many",
        ]
        #expect(
            problems(nil, environment: environment, flags: ["log.level": "loud"]) == [
                "environment variable FANFARE_LOG__LEVLE: log.levle: unknown key; did you mean `level`?",
                "environment variable FANFARE_SEND__THREADS: send.threads: expected an integer from 1 to 64, found many",
                "--log-level: log.level: expected one of trace, debug, info, notice, warning, error, critical, "
                    + "found “loud”",
            ]
        )
    }

    @Test func whatIsMissingIsNamed() {
        #expect(
            problems("apps:\n  shop:\n    apns: { topic: com.example.shop }", environment: [:]) == [
                "fanfare.yaml:3:5: apps.shop.apns: has no credentials: set `key_file`, `key_id` and `team_id`, "
                    + "or `certificate_file`",
                "database.url: is required; set it in fanfare.yaml, by DATABASE_URL or by --database-url",
            ]
        )
    }

    @Test func pathsNeedTheirVariables() {
        let app = "apps: { shop: { apns: { team_id: DEF123GHIJ, key_id: ABC123DEFG, topic: com.example, key_file: "
        #expect(
            problems(app + "\"${NOPE}/a.p8\" } } }") == [
                "fanfare.yaml:1:96: apps.shop.apns.key_file: uses ${NOPE}, but that environment variable is not set"
            ]
        )
        let credential = app + "\"${CREDENTIALS_DIRECTORY}/a.p8\" } } }"
        #expect(problems(credential).first?.contains("export CREDENTIALS_DIRECTORY=/etc/fanfare/credentials") == true)
        #expect(
            problems("installation: \"${STAGE}\"") == [
                "fanfare.yaml:1:15: installation: ${NAME} is expanded in keys that end in _file only; "
                    + "set the whole value by its environment variable"
            ]
        )
    }

    /// Commands that need only the database check its password, but no credentials.
    @Test func commandsForTheDatabaseNeedNoVariablesOfCredentials() throws {
        func load(_ yaml: String) throws -> Configuration {
            let file = FileManager.default.temporaryDirectory.appending(path: "fanfare-\(UUID().uuidString).yaml")
            try Data(yaml.utf8).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            return try Configuration.load(file: file.path, environment: [:], readsFiles: false)
        }
        let app = "apps: { shop: { fcm: { service_account_file: \"${NOPE}/a.json\" } } }"
        let configuration = try load("database: { url: postgres:///x }\n" + app)
        #expect(configuration.apps["shop"] != nil)
        #expect(throws: ConfigurationError.self) {
            try load("database: { url: postgres:///x, password_file: \"${NOPE}/p\" }\n" + app)
        }
    }

    @Test(
        arguments: [
            ("log: [", "2:1: is not valid YAML: did not find expected node content"),
            ("log:\n\tlevel: info", "2:1: is not valid YAML: found character that cannot start any token"),
            ("log: *nope", "1:6: is not valid YAML: found undefined alias"),
            ("a: 1\n---\nb: 2", ""),
        ]
    ) func brokenYAMLIsNamedWithItsLine(yaml: String, message: String) throws {
        let found = try #require(problems(yaml).first)
        #expect(found.hasPrefix("fanfare.yaml:" + message))
    }

    @Test func secondDocumentsAreRefused() {
        #expect(
            problems("log: { level: info }\n---\nlog: {}")
                == ["fanfare.yaml:3:1: expected one YAML document, found another one"]
        )
    }

    @Test func aliasesCannotGrowWithoutBound() {
        var yaml = "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        for (name, inner) in zip("bcdefgh", "abcdefg") {
            yaml += "\(name): &\(name) [" + Array(repeating: "*\(inner)", count: 10).joined(separator: ", ") + "]\n"
        }
        #expect(problems(yaml).contains { $0.hasSuffix("the file has more than 100000 values") })
    }
}
