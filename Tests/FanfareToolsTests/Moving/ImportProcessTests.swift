import FanfareCore
import Foundation
import PostgresClient
import Programs
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareTools

/// The program as a process: killed, reading from a pipe, and with the commands of MovingIn.md.
@Suite(.database)
struct ImportProcessTests {
    private var environment: [String: String] { ["DATABASE_URL": TestDatabase.current.url] }

    @Test func killedInTheMiddleItGoesOnWhereItWas() async throws {
        try await withNewFolder { folder in
            let path = "\(folder)/devices.csv"
            try ("fcm_token\n" + (1...4500).map { "t\($0)" }.joined(separator: "\n"))
                .write(toFile: path, atomically: true, encoding: .utf8)
            // Another session's lock on a device of the second chunk blocks the import there.
            let database = TestDatabase.current
            let holder = try database.connect()
            _ = try holder.query("SELECT fanfare.register_device('shop', 'fcm', 't3000')")
            try holder.execute("BEGIN; SELECT id FROM fanfare.devices FOR UPDATE")
            let arguments = ["devices", "import", path, "--app", "shop", "--resume", "--json"]
            let process = try await ProgramProcess(FanfareBinary.path(), arguments, environment: environment)
            try await onThread {
                try database.connect().waitUntil(
                    """
                    SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')
                    """,
                    seconds: 60
                )
            }
            process.signal(SIGKILL)
            #expect(await process.exitStatus() == 128 + SIGKILL)
            try holder.execute("ROLLBACK")
            #expect(try sql("SELECT line FROM fanfare.imports WHERE finished_at IS NULL") == ["2002"])

            let run = try await fanfare(arguments, environment: environment)
            #expect(run.status == 0 && run.errors.contains("fanfare: continues at line 2002"))
            let tally = try JSONValue(parsing: run.output.joined())
            #expect(tally["read"] == 4500 && tally["new"] == 4499)
            #expect(tally["skipped"] == ["older than what is here": 1])
            #expect(try sql("SELECT count(*) FROM fanfare.devices") == ["4500"])
        }
    }

    @Test func ofAPipeEachRefusedRowIsToldAndNothingIsNoted() async throws {
        let run = try await fanfare(
            ["devices", "import", "-", "--app", "shop", "--provider", "apns"],
            environment: environment,
            input: "token\naa11\nnot hexadecimal\n"
        )
        #expect(run.status == 1)
        #expect(run.errors.contains { $0.hasPrefix("fanfare: line 3, token: this is not an APNs token") })
        #expect(!run.errors.joined().contains("not hexadecimal"))
        #expect(run.output.contains { $0.wholeMatch(of: /new +1/) != nil })
        #expect(try sql("SELECT count(*) FROM fanfare.imports") == ["0"])
        let resumed = try await fanfare("devices", "import", "-", "--app", "shop", "--resume", environment: environment)
        #expect(resumed.status == 64)
    }

    /// MovingIn.md shows each file below its name; each command that imports one of them is run.
    @Test func theArticlesExamplesAreImported() async throws {
        let text = try Documentation.text("MovingIn")
        try await withNewFolder { folder in
            for file in text.matches(of: /`([a-z]+\.[a-z]+)`:\n\n```[a-z]+\n((?:.|\n)*?)```/) {
                try String(file.2).write(toFile: "\(folder)/\(file.1)", atomically: true, encoding: .utf8)
            }
            var count = 0
            for command in text.matches(of: /(?m)^fanfare (devices (?:im|ex)port [^#|\n]+)/) {
                let parts = command.1.split(separator: ">").map { $0.trimmingCharacters(in: .whitespaces) }
                let run = try await fanfare(
                    parts[0].split(separator: " ").map(String.init),
                    environment: environment,
                    directory: folder
                )
                #expect(run.status == 0, "\(command.1)\(run.errors)")
                count += 1
            }
            #expect(count >= 8)
        }
        #expect(
            try sql(
                "SELECT string_agg(user_id || ':' || provider, ' ' ORDER BY d.id) FROM fanfare.devices AS d WHERE d.app_id = 1"
            )
                == ["ann:fcm bob:apns ann:apns bob:fcm ann:fcm bob:fcm ann:webpush"]
        )
        #expect(try sql("SELECT count(*) FROM fanfare.devices WHERE app_id <> 1") == ["7"])
        #expect(
            try sql(
                "SELECT count(*) FROM fanfare.subscriptions AS s JOIN fanfare.devices AS d ON d.id = s.device_id WHERE d.app_id = 1"
            ) == ["2"]
        )
    }
}
