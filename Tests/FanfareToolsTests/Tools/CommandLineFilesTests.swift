import Foundation
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

@Suite struct ConfigurationFileTests {
    private func find(flag: String? = nil, variable: String? = nil, there: Set<String>) -> String? {
        let environment = variable.map { ["FANFARE_CONFIG": $0] } ?? [:]
        return ConfigurationFile.find(flag: flag, environment: environment, isThere: there.contains)
    }

    @Test func theFirstOfFourCounts() {
        let both: Set = ["./fanfare.yaml", "/etc/fanfare/fanfare.yaml"]
        #expect(find(flag: "a.yaml", variable: "b.yaml", there: both) == "a.yaml")
        #expect(find(variable: "b.yaml", there: both) == "b.yaml", "named, so whether it is there does not matter")
        #expect(find(variable: "", there: both) == "./fanfare.yaml")
        #expect(find(there: ["/etc/fanfare/fanfare.yaml"]) == "/etc/fanfare/fanfare.yaml")
        #expect(find(there: []) == nil)
    }
}

/// The program's inputs: its configuration and standard input.
@Suite struct CommandLineFilesTests {
    private static let broken = "log: { levl: debug }\n"

    @Test func theConfigurationIsFoundAndNamedInErrors() async throws {
        try await withNewFolder { folder in
            try Self.broken.write(toFile: folder + "/fanfare.yaml", atomically: true, encoding: .utf8)
            try Self.broken.write(toFile: folder + "/other.yaml", atomically: true, encoding: .utf8)
            let here = try await fanfare("status", directory: folder)
            #expect(here.status == 78)
            #expect(here.errors.first?.hasPrefix("fanfare: ./fanfare.yaml:1:8: log.levl") == true)
            let named = try await fanfare("status", environment: ["FANFARE_CONFIG": "other.yaml"], directory: folder)
            #expect(named.errors.first?.hasPrefix("fanfare: other.yaml:1:8: log.levl") == true)
            let flag = try await fanfare(
                "status",
                "-c",
                "flag.yaml",
                environment: ["FANFARE_CONFIG": "other.yaml"],
                directory: folder
            )
            #expect(flag.errors.first == "fanfare: flag.yaml: there is no such file")
        }
    }

    @Test func checkAndServeSayWhichConfigurationTheyRead() async throws {
        try await withNewFolder { folder in
            let text = "database: { url: 'postgres://127.0.0.1:1/app' }\n"
            try text.write(toFile: folder + "/fanfare.yaml", atomically: true, encoding: .utf8)
            let check = try await fanfare("check", environment: ["DATABASE_URL": ""], directory: folder)
            #expect(check.output.first == "ok    configuration: 0 apps, from ./fanfare.yaml")
            let none = try await fanfare("check")
            #expect(none.output.first?.hasSuffix("no file: all of it from the environment and flags") == true)
            let serve = try await fanfare(
                "serve",
                "--wait-for-database",
                "1s",
                "--json",
                environment: ["DATABASE_URL": ""],
                directory: folder
            )
            #expect(serve.errors.first?.contains(#""msg":"starting""#) == true)
            #expect(serve.errors.first?.contains(#""file":"./fanfare.yaml""#) == true)
            #expect(
                serve.errors.last?.contains(#""where":"postgres://127.0.0.1:1/app, from ./fanfare.yaml:1:18""#) == true
            )
        }
    }

    @Test func whatIsNoFileIsSaidWithTheRightMend() async throws {
        try await withNewFolder { folder in
            let isFolder = try await fanfare("status", "-c", folder)
            #expect(isFolder.errors == ["fanfare: \(folder): is a folder", "  fix: Name the file in it."])
            let nothing = try await fanfare("status", environment: ["DATABASE_URL": ""], directory: folder)
            #expect(nothing.status == 78)
            #expect(
                nothing.errors.first?.contains("neither ./fanfare.yaml nor /etc/fanfare/fanfare.yaml is there") == true
            )
            let check = try await fanfare("check", "-c", "missing.yaml", directory: folder)
            #expect(check.status == 1)
            #expect(check.output.last?.contains("Name it with -c or FANFARE_CONFIG") == true)
        }
    }

    @Test func aDashIsStandardInput() async throws {
        let rules = """
            - name: shipped
              app: shop
              event: order.shipped
              to: { users: $.customer }
              message: { notification: { title: "Order {{id}}" } }
            """
        let explained = try await fanfare(
            "explain",
            "-",
            "--event",
            #"{"id": 7}"#,
            environment: ["DATABASE_URL": ""],
            input: rules
        )
        #expect(explained.status == 0)
        #expect(explained.output.joined().contains("Order 7"))
        let broken = try await fanfare("rules", "plan", "-", input: "- nme: x\n  name: y\n")
        #expect(broken.status == 1)
        #expect(broken.errors.first?.hasPrefix("fanfare: standard input:1: ") == true)
        let twice = try await fanfare("explain", "-", "--event", "-", input: rules)
        #expect(twice.status == 64)
        let payload = try await fanfare("emit", "t", "-", input: "[1]")
        #expect(payload.status == 64)
        #expect(payload.errors.first == "fanfare: the payload is an array, not an object")
        let event = try await fanfare(
            "explain",
            "-",
            "--event",
            "{",
            environment: ["DATABASE_URL": ""],
            input: rules
        )
        #expect(event.status == 64)
        #expect(event.errors.first?.hasPrefix("fanfare: --event is not JSON: ") == true)
        #expect(event.errors.last == "  fix: Quote it for the shell: '{\"id\": 7}'.")
    }
}

@Suite(.database) struct StandardInputTests {
    @Test func anEventAndRulesAreReadFromIt() async throws {
        let environment = ["DATABASE_URL": TestDatabase.current.url]
        let event = try await fanfare("emit", "t", "-", environment: environment, input: #"{"é": 1}"#)
        #expect(event.status == 0)
        #expect(try sql("SELECT payload FROM fanfare.outbox WHERE id = $1", event.output.first) == [#"{"é": 1}"#])
        let message = #"{"app": "shop", "to": {"users": "é"}, "message": {"notification": {"title": "T"}}}"#
        let sent = try await fanfare("send", "-", environment: environment, input: message)
        #expect(sent.status == 0)
        #expect(try sql("SELECT payload ->> 'to' FROM fanfare.outbox WHERE id = $1", sent.output.first) == ["é"])
        let rules = "{ name: r, app: shop, event: t, to: { everyone: true }, message: { notification: { title: T } } }"
        let applied = try await fanfare("rules", "apply", "-", environment: environment, input: rules)
        #expect(applied.status == 0)
        #expect(try sql("SELECT name FROM fanfare.rules WHERE name NOT LIKE 'send/%'") == ["r"])
        let refused = try await fanfare("send", #"{"app": "shop"}"#, environment: environment)
        #expect(refused.status == 1 && refused.errors.first == "fanfare: to: is missing")
    }
}
