import Foundation
import Programs
import TestKit
import Testing

@testable import DaemonKit

/// Waits for a line that contains a word.
func line(with word: String, in lines: AsyncStream<String>) async -> String? {
    for await line in lines where line.contains(word) { return line }
    return nil
}

/// The reason that a daemon with a JSON log gives for ending.
private struct FatalLine: Decodable {
    let level: String
    let msg: String
    var error: String = ""
    var hint: String?
}

@Suite struct CommandLineTests {
    @Test(arguments: [
        ["--bogus"], ["emit"], ["emit", "t", "[1]"], ["emit", "t", "{}", "--ttl", "soon"], ["nonsense"],
        ["emit", ""], ["devices", "list", "--provider", "apsn"],
        ["devices", "unregister", "--app", "shop", "--provider", "apsn", "ab"],
        ["topics", "subscribe", "t", "--app", "shop"],
        ["topics", "subscribe", "t", "--app", "shop", "--all", "--user", "u"],
        ["channels", "create"], ["explain", "rules.yaml", "--token", "t"],
    ])
    func mistakesOfUsageEndWith64(arguments: [String]) async throws {
        let program = try FanfareBinary.path()
        let process = try await ProgramProcess(
            program,
            arguments,
            environment: ["DATABASE_URL": "postgres://127.0.0.1:1/app"]
        )
        var errors: [String] = []
        for await line in process.errors { errors.append(line) }
        #expect(await process.exitStatus() == 64)
        #expect(errors.first?.isEmpty == false)
        #expect(!errors.joined().contains("Error("))
    }

    @Test func anUnreachableDatabaseEndsWith69() async throws {
        let result = try await fanfare("status")
        #expect(result.status == 69)
        #expect(result.output.isEmpty)
        #expect(result.errors.first?.hasPrefix("fanfare: ") == true)
        #expect(
            result.errors.contains("  where: postgres://127.0.0.1:1/app, from environment variable DATABASE_URL")
        )
        #expect(result.errors.last == "  fix: Is PostgreSQL running, and database.url right?")
    }

    @Test func aDaemonWaitsForItsDatabaseAndThenEndsWith69() async throws {
        let result = try await fanfare("serve", "--wait-for-database", "2s", "--json")
        #expect(result.status == 69)
        #expect(result.errors.contains { $0.contains(#""msg":"database not reachable yet""#) })
        let line = try #require(result.errors.last)
        let last = try JSONDecoder().decode(FatalLine.self, from: Data(line.utf8))
        #expect(last.level == "critical" && last.msg == "the daemon ends")
        #expect(last.hint == "Is PostgreSQL running, and database.url right?")
    }

    @Test func inTextAFatalErrorHasLinesForPeople() async throws {
        let file = NSTemporaryDirectory() + "fanfare-cli-\(UUID().uuidString).yaml"
        let result = try await fanfare("serve", "--config", file, "--log-format", "text")
        #expect(result.status == 78)
        #expect(result.errors.first == "fanfare: \(file): there is no such file")
        #expect(result.errors.last?.hasPrefix("  fix: ") == true)
    }

    @Test func aWrongConfigurationEndsWith78() async throws {
        let file = NSTemporaryDirectory() + "fanfare-cli-\(UUID().uuidString).yaml"
        try "log: { levl: debug }\n".write(toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        let result = try await fanfare("serve", "--config", file)
        #expect(result.status == 78)
        #expect(result.errors.count == 1)
        let line = try JSONDecoder().decode(FatalLine.self, from: Data(result.errors.joined().utf8))
        #expect(line.error.contains("\(file):1:8: log.levl: unknown key; did you mean `level`?"))
        let missing = try await fanfare("rules", "list", "--config", "/nowhere/fanfare.yaml")
        #expect(missing.status == 78)
        #expect(missing.errors.first == "fanfare: /nowhere/fanfare.yaml: there is no such file")
        #expect(missing.errors.last?.hasPrefix("  fix: Name it with -c or FANFARE_CONFIG") == true)
    }

    @Test func checkEndsWith1AndSaysWhy() async throws {
        let result = try await fanfare("check")
        #expect(result.status == 1)
        #expect(result.output.contains { $0.hasPrefix("fail  database: ") })
    }

    @Test func keysOfWebPushAreMadeOnce() async throws {
        let file = NSTemporaryDirectory() + "fanfare-vapid-\(UUID().uuidString).pem"
        defer { try? FileManager.default.removeItem(atPath: file) }
        let made = try await fanfare("vapid-keys", "--out", file, "--json")
        #expect(made.status == 0 && made.output.count == 1)
        let object = try JSONDecoder().decode([String: String].self, from: Data(made.output.joined().utf8))
        #expect(object["private_key_file"] == file)
        #expect(object["public_key"]?.wholeMatch(of: /[A-Za-z0-9_-]{87}/) != nil)
        let again = try await fanfare("vapid-keys", "--out", file)
        #expect(again.status == 1)
        #expect(again.errors.first?.contains("\(file): is there already") == true)
        let printed = try await fanfare("vapid-keys")
        #expect(printed.output.first == "-----BEGIN PRIVATE KEY-----")
        #expect(printed.output.last?.wholeMatch(of: /public key.*: [A-Za-z0-9_-]{87}/) != nil)
    }

    @Test func theVersionIsPrinted() async throws {
        #expect(try await fanfare("version").output.first?.hasPrefix("fanfare ") == true)
        #expect(try await fanfare("version", "--json").output.first?.hasPrefix("{\"version\":") == true)
    }
}

@Suite(.database) struct CommandLineDatabaseTests {
    private var environment: [String: String] { ["DATABASE_URL": TestDatabase.current.url] }

    @Test func emitPrintsTheIDAlone() async throws {
        let result = try await fanfare("emit", "order.shipped", "{\"id\": 1}", environment: environment)
        #expect(result.status == 0 && result.errors.isEmpty)
        #expect(try sql("SELECT id FROM fanfare.outbox") == result.output)
    }

    @Test func aDatabaseThatIsNotOursEndsWith78() async throws {
        let nobody = try await fanfare("serve", environment: environment)
        #expect(nobody.status == 78)
        #expect(nobody.errors.last?.contains("this database is not adopted") == true)
        try sql("SELECT fanfare.adopt()")
        try sql("UPDATE fanfare.installation SET database_oid = 1")
        let copy = try await fanfare("serve", environment: environment)
        #expect(copy.status == 78)
        #expect(copy.errors.contains { $0.contains("a copy of the one that was adopted") })
        try sql("UPDATE fanfare.schema_version SET version = 9, oldest_daemon = 9")
        let newer = try await fanfare("serve", environment: environment)
        #expect(newer.status == 78)
        #expect(newer.errors.contains { $0.contains("Upgrade Fanfare") })
    }

    @Test(.timeLimit(.minutes(5))) func aDaemonReloadsAndDrains() async throws {
        try sql("SELECT fanfare.adopt()")
        let file = NSTemporaryDirectory() + "fanfare-cli-\(UUID().uuidString).yaml"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try "log: { format: json }\n".write(toFile: file, atomically: true, encoding: .utf8)
        let program = try FanfareBinary.path()
        let environment = environment
        let process = try await ProgramProcess(program, ["serve", "--config", file], environment: environment)
        #expect(await line(with: #""msg":"ready""#, in: process.errors) != nil)

        try "log: { format: json, level: debug }\nsend: { streams: 7 }\n"
            .write(toFile: file, atomically: true, encoding: .utf8)
        process.signal(SIGHUP)
        let restart = await line(with: "wait for a restart", in: process.errors)
        #expect(restart?.contains("send.streams") == true)
        #expect(await line(with: "configuration reloaded", in: process.errors) != nil)

        try "log: { levl: debug }\n".write(toFile: file, atomically: true, encoding: .utf8)
        process.signal(SIGHUP)
        let refused = await line(with: "configuration not reloaded", in: process.errors)
        #expect(refused?.contains("log.levl") == true)

        process.signal(SIGTERM)
        #expect(await process.exitStatus() == 0)
        #expect(try sql("SELECT count(*) FROM fanfare.instances") == ["0"])
    }

    @Test(.timeLimit(.minutes(5))) func anInterruptStopsAtOnce() async throws {
        try sql("SELECT fanfare.adopt()")
        let program = try FanfareBinary.path()
        let environment = environment
        let process = try await ProgramProcess(program, ["serve", "--json"], environment: environment)
        #expect(await line(with: #""msg":"ready""#, in: process.errors) != nil)
        process.signal(SIGINT)
        #expect(await line(with: "stopped at once", in: process.errors) != nil)
        #expect(await process.exitStatus() == 130)
    }
}
