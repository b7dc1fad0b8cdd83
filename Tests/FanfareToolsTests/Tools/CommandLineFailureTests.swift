import Foundation
import Programs
import TestKit
import Testing

@testable import DaemonKit

/// The program's errors: problem, place, remedy and exit code.
@Suite struct CommandLineFailureTests {
    @Test func aMissingFaultsFileIsAMistakeOfUsage() async throws {
        try await withNewFolder { folder in
            let result = try await fanfare("sandbox", "--dir", folder, "--faults", "/nowhere/faults.json")
            #expect(result.status == 64)
            #expect(result.errors.first == "fanfare: --faults: there is no such file")
            #expect(result.errors.contains("  where: /nowhere/faults.json"))
            #expect(result.errors.last?.hasPrefix("  fix: ") == true)
        }
    }

    @Test func faultsThatMakeNoSenseAreAMistakeOfUsage() async throws {
        try await withNewFolder { folder in
            let file = folder + "/faults.json"
            try #"[{"do": "dance"}]"#.write(toFile: file, atomically: true, encoding: .utf8)
            let result = try await fanfare("sandbox", "--dir", folder, "--faults", file)
            #expect(result.status == 64)
            #expect(result.errors.first?.hasPrefix("fanfare: faults[0].do: ") == true)
        }
    }

    @Test func aPortInUseIsUnavailable() async throws {
        let sandbox = try await SandboxProcess.start()
        let port = "\(sandbox.ready.controlPort)"
        try await withNewFolder { folder in
            for arguments in [["--port", port], ["--control-port", port]] {
                let result = try await fanfare("sandbox", "--dir", folder, arguments[0], arguments[1])
                #expect(result.status == 69)
                #expect(
                    result.errors == [
                        "fanfare: cannot listen on 127.0.0.1:\(port): another program has this port; choose another one, or "
                            + "0 for any that is free"
                    ]
                )
            }
            let dev = try await fanfare("dev", "--once", "--dir", folder, "--port", port)
            #expect(dev.status == 69)
            #expect(dev.errors.first?.hasPrefix("fanfare: cannot listen on 127.0.0.1:\(port): ") == true)
        }
        await sandbox.stop()
    }

    @Test func aFileOfRulesThatIsAFolderIsNamed() async throws {
        try await withNewFolder { folder in
            let result = try await fanfare("rules", "plan", folder)
            #expect(result.status == 1)
            #expect(result.errors.first == "fanfare: \(folder): is a folder; name the files in it")
        }
    }

    @Test(.timeLimit(.minutes(5))) func theDatabaseIsWaitedForAsLongAsAsked() async throws {
        let began = ContinuousClock.now
        let result = try await fanfare("serve", "--wait-for-database", "2s", "--json")
        #expect(result.status == 69)
        #expect(ContinuousClock.now - began >= .seconds(2))
    }
}

@Suite(.database) struct CommandLineOutcomeTests {
    private var environment: [String: String] { ["DATABASE_URL": TestDatabase.current.url] }

    @Test func aNewerSchemaIsNoOutage() async throws {
        try sql("UPDATE fanfare.schema_version SET version = 99")
        for arguments in [["migrate", "--json"], ["migrate", "--dry-run"]] {
            let result = try await fanfare(arguments[0], arguments[1], environment: environment)
            #expect(result.status == 78)
            #expect(result.errors.first?.contains("this database has schema version 99") == true)
            #expect(result.errors.last?.contains("newest Fanfare") == true)
        }
    }

    /// Without the cancellation, the statement continued on the server and its locks blocked the next command.
    @Test(.timeLimit(.minutes(5)), arguments: [SIGTERM, SIGINT])
    func migrateEndsItsStatementWhenItIsToldToEnd(signal: Int32) async throws {
        try sql(
            "CREATE FUNCTION public.stay() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(600); END $$"
        )
        try sql("CREATE EVENT TRIGGER stay ON ddl_command_end EXECUTE FUNCTION public.stay()")
        let database = TestDatabase.current
        let sleeps =
            "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
        let process = try await ProgramProcess(FanfareBinary.path(), ["migrate"], environment: environment)
        try await onThread { try database.connect().waitUntil("SELECT EXISTS (\(sleeps))", seconds: 60) }
        process.signal(signal)
        #expect(await process.exitStatus() == 1)
        try await onThread { try database.connect().waitUntil("SELECT NOT EXISTS (\(sleeps))", seconds: 60) }
        var errors: [String] = []
        for await line in process.errors { errors.append(line) }
        #expect(errors.contains { $0.contains("ended by a signal") })
    }

    @Test(.timeLimit(.minutes(5))) func statusIsShownAgainAndAgain() async throws {
        let program = try FanfareBinary.path()
        let environment = environment
        let process = try await ProgramProcess(program, ["status", "--watch", "--json"], environment: environment)
        var lines: [String] = []
        for await line in process.output {
            lines.append(line)
            if lines.count == 2 { break }
        }
        #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix(#"{"installation":"#) })
        #expect(await process.stop() == 143)
    }

    @Test func tailTakesItsFilters() async throws {
        let none = try await fanfare(
            "tail",
            "--no-follow",
            "--user",
            "a",
            "--app",
            "b",
            "--rule",
            "c",
            "--failed",
            environment: environment
        )
        #expect(none.status == 0 && none.output.isEmpty)
        let wrong = try await fanfare("tail", "--outcome", "acepted", environment: environment)
        #expect(wrong.status == 64)
        #expect(wrong.errors.first?.hasSuffix("'acepted' is none; did you mean accepted?") == true)
        let both = try await fanfare("tail", "--outcome", "gone", "--failed", environment: environment)
        #expect(both.status == 64)
    }
}
