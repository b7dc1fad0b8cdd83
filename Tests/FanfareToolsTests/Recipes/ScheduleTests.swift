import Foundation
import PostgresClient
import Programs
import TestKit
import Testing

@testable import DaemonKit

/// The examples that start campaigns from outside, in the unit and the article, work as printed.
@Suite(.database, .timeLimit(.minutes(2))) struct ScheduleTests {
    private let connection: PostgresConnection

    init() throws {
        connection = try TestDatabase.current.connect()
    }

    /// Returns type, key and payload of the waiting events, in order of emission.
    private func events() throws -> [String] {
        try connection.column("SELECT type || ' | ' || key || ' | ' || payload FROM fanfare.outbox ORDER BY id")
    }

    /// Returns the current date in UTC by the database's clock.
    private func today() throws -> String {
        try #require(try connection.text("SELECT (now() AT TIME ZONE 'UTC')::date"))
    }

    /// Runs a command in a shell with the built program, and its configuration in place of the installed one.
    private func run(_ command: String, _ variables: [String: String] = [:]) async throws -> (Int32, [String]) {
        let program = try FanfareBinary.path()
        var result: (Int32, [String]) = (0, [])
        try await withNewFolder { folder in
            let file = folder + "/fanfare.yaml"
            try "database: { url: '\(TestDatabase.current.url)' }\n".write(
                toFile: file,
                atomically: true,
                encoding: .utf8
            )
            let command = command.replacing("/etc/fanfare/fanfare.yaml", with: file)
                .replacing("/usr/local/bin/fanfare", with: program)
            let path = URL(filePath: program).deletingLastPathComponent().path + ":/usr/bin:/bin"
            let environment = variables.merging(["PATH": path, "DATABASE_URL": ""]) { $1 }
            let process = try await ProgramProcess("/bin/sh", ["-ec", command], environment: environment)
            var output: [String] = []
            for await line in process.output { output.append(line) }
            result = (await process.exitStatus(), output)
        }
        return result
    }

    // MARK: systemd

    private static func unit(_ name: String) throws -> String {
        try String(contentsOf: Documentation.root.appending(path: "systemd/\(name)"), encoding: .utf8)
    }

    /// Returns the service's command as systemd runs it for an instance (systemd.service(5), "Command lines";
    /// systemd.unit(5), "Specifiers").
    private static func command(of instance: String) throws -> String {
        let line = try #require(
            try unit("fanfare-campaign@.service").firstMatch(of: /\nExecStart=\/bin\/sh -ec '(.*)'\n/)
        )
        return String(line.1).replacing("$$", with: "$").replacing("%i", with: instance).replacing("%%", with: "%")
    }

    @Test func theServiceEmitsWhatItsFileSays() async throws {
        let command = try Self.command(of: "spring-sale")
        let file = ["TYPE": "sale.started", "PAYLOAD": #"{"name": "Spring 'sale'"}"#, "EVERY": "%F"]
        let day = try today()
        for _ in 0..<2 {
            let (status, output) = try await run(command, file)
            #expect(status == 0 && Int64(output.first ?? "") != nil)
        }
        // The planner marks the second event as a duplicate.
        let event = #"sale.started | spring-sale \#(day) | {"name": "Spring 'sale'"}"#
        #expect(try events() == [event, event] || today() != day)
        #expect(try await run(command, ["TYPE": "", "PAYLOAD": "{}", "EVERY": "%F"]).0 == 64, "not tried again")
        let service = try Self.unit("fanfare-campaign@.service")
        for line in [
            "Environment=PAYLOAD={} EVERY=%%F", "EnvironmentFile=/etc/fanfare/campaigns/%i", "Restart=on-failure",
        ] {
            #expect(service.contains("\n\(line)\n"))
        }
        #expect(service.contains("\nRestartPreventExitStatus=64 78\n"))
    }

    @Test func theTimerMakesUpForWhatWasMissed() throws {
        let timer = try Self.unit("fanfare-campaign@.timer")
        for line in ["OnCalendar=*-*-* 09:00 UTC", "Persistent=yes", "AccuracySec=1s", "WantedBy=timers.target"] {
            #expect(timer.contains("\n\(line)\n"))
        }
    }

    // MARK: The article

    private static func block(_ opening: String) throws -> String {
        let parts = try Documentation.text("Schedules").components(separatedBy: "```\(opening)\n")
        return try #require(parts.last?.components(separatedBy: "\n```").first)
    }

    /// cron ends a command at a percent sign unless a backslash precedes it, and removes the backslash (crontab(5)).
    @Test func theLineOfACrontabEmits() async throws {
        let line = try #require(try Documentation.text("Schedules").firstMatch(of: /\n0 9 \* \* 1-5  (.*)\n/))
        #expect(line.1.matches(of: /[^\\]%/).isEmpty)
        let day = try today()
        #expect(try await run(String(line.1).replacing("\\%", with: "%")).0 == 0)
        #expect(try events() == [#"sale.started | spring-sale \#(day) | {"name": "Spring sale"}"#] || today() != day)
    }

    @Test func whatPgCronIsToRunEmits() throws {
        let sql = try Self.block("sql")
        let job = try #require(sql.firstMatch(of: /\$\$(.*)\$\$\);/))
        _ = try connection.query(String(job.1))
        let key = try #require(try connection.text("SELECT 'spring-sale ' || current_date"))
        #expect(try events() == [#"sale.started | \#(key) | {"name": "Spring sale"}"#])
    }
}
