import FanfareCore
import Foundation
import PostgresClient
import Programs
import TestKit
import Testing

@testable import DaemonKit

/// `fanfare topics` as a process: killed, stopped, and with its output.
@Suite(.database, .serialized, .timeLimit(.minutes(Soak.choose(5, soak: 60))))
struct TopicProcessTests {
    private static let devices = Soak.choose(3000, soak: 100_000)
    private static let kills = Soak.choose(1, soak: 30)

    private func register(_ count: Int) async throws {
        let database = TestDatabase.current
        try await onThread {
            let connection = try database.connect()
            connection.allowAnswers(within: .seconds(600))
            try connection.execute(
                """
                SET statement_timeout = 0;
                SELECT count(fanfare.register_device('demo', 'fcm', 'phone:' || n)) FROM generate_series(1, \(count)) AS n
                """
            )
        }
    }

    private func with(_ body: (SandboxProcess) async throws -> Void) async throws {
        let sandbox = try await SandboxProcess.start()
        do {
            try await body(sandbox)
        } catch {
            await sandbox.stop()
            throw error
        }
        await sandbox.stop()
    }

    private func arguments(_ sandbox: SandboxProcess, _ more: String...) -> [String] {
        ["topics", "subscribe", "news", "--app", "demo", "--all", "-c", sandbox.ready.configFile] + more
    }

    private var environment: [String: String] { ["DATABASE_URL": TestDatabase.current.url] }

    /// Kills at any moment, at most one of them in a step, while FCM answers 429, 503, resets, and unregistered.
    @Test func killedAgainAndAgainItRequestsNoMembershipMoreThanTwice() async throws {
        try await register(Self.devices)
        try await with { sandbox in
            try await sandbox.setFaults(
                #"""
                [{"provider": "fcm_topics", "match": {"share": 0.001, "salt": "a"}, "do": "status", "status": 429, "retry_after": 1, "times": 1, "total": 20},
                 {"provider": "fcm_topics", "match": {"share": 0.002, "salt": "b"}, "do": "status", "status": 503, "times": 1},
                 {"provider": "fcm_topics", "match": {"share": 0.01, "salt": "c"}, "do": "status", "reason": "UNREGISTERED"}]
                """#
            )
            let began = ContinuousClock.now
            var generator = SeededGenerator(seed: 7)
            for _ in 1...Self.kills {
                // A step has 1,000 devices, so between two kills one is finished.
                let received = try await sandbox.awaitCounts().received
                let place = received + 1500 + Int.random(in: 0..<1500, using: &generator)
                let process = try await ProgramProcess(
                    FanfareBinary.path(),
                    arguments(sandbox),
                    environment: environment
                )
                _ = try await sandbox.awaitCounts(received: place, seconds: 300)
                process.signal(SIGKILL)
                _ = await process.exitStatus()
            }
            let run = try await fanfare(arguments(sandbox, "--json"), environment: environment)
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            #expect(run.status == 0, "\(run.errors)")
            #expect(run.errors.contains { $0.hasPrefix("fanfare: continued after ") })
            let tally = try JSONValue(parsing: run.output.joined())
            let gone = tally["gone"]?.numberValue?.integer ?? 0
            #expect(tally["done"]?.numberValue?.integer == Int64(Self.devices) - gone && gone > 0)
            #expect(tally["refused"] == [:] && tally["unserved"] == 0)
            let counts = try await sandbox.awaitCounts()
            #expect(counts.memberships == Self.devices, "each membership was requested and served")
            #expect(counts.requestsPerMembership <= 2)
            let answers = counts.byProvider["fcm_topics"] ?? [:]
            let known = [
                "200", "409 ALREADY_EXISTS", "404 UNREGISTERED", "429 RESOURCE_EXHAUSTED", "503 UNAVAILABLE", "none",
            ]
            #expect(Set(answers.keys).isSubset(of: known), "\(answers)")
            #expect(answers["200"] ?? 0 == Self.devices - Int(gone), "each was made once")
            #expect(try sql("SELECT finished_at IS NOT NULL FROM fanfare.topic_changes") == ["t"])
            if Soak.isOn {
                let total = answers.values.reduce(0, +)
                print(
                    "topics: \(Self.devices) devices, \(Self.kills) kills, \(Int(seconds)) s, \(total) requests,"
                        + " at most \(counts.requestsPerMembership) a membership, \(answers)"
                )
            }
        }
    }

    @Test(arguments: [SIGINT, SIGTERM]) func aSignalStoresProgressAndTellsHowToContinue(signal: Int32) async throws {
        try await register(1100)
        try await with { sandbox in
            // The process waits for the quota in its second step.
            try await sandbox.setFaults(
                #"[{"provider": "fcm_topics", "match": {"token": "^phone:1050$"}, "do": "status", "status": 429, "retry_after": 3600}]"#
            )
            let process = try await ProgramProcess(
                FanfareBinary.path(),
                arguments(sandbox, "--json"),
                environment: environment
            )
            for await line in process.errors where line.hasPrefix("fanfare: FCM's quota is exhausted: waits for 3") {
                break
            }
            process.signal(signal)
            var rest: [String] = []
            for await line in process.errors { rest.append(line) }
            #expect(await process.exitStatus() == 128 + signal)
            #expect(rest.last == "fanfare: stopped after 1049 devices: the same command continues there")
            try await sandbox.setFaults("[]")
            let run = try await fanfare(arguments(sandbox, "--json"), environment: environment)
            #expect(run.status == 0 && run.errors.first == "fanfare: continued after 1049 devices")
            #expect(try JSONValue(parsing: run.output.joined())["done"] == 1100)
            let anew = try await fanfare(arguments(sandbox, "--restart"), environment: environment)
            #expect(anew.output == ["1100 done"] && !anew.errors.contains { $0.contains("continued") })
        }
    }

    @Test func theCommandLineIsChecked() async throws {
        for wrong in [["--rate", "0"], ["--rate", "3001"], ["--user", "u"]] {
            let run = try await fanfare(
                ["topics", "subscribe", "news", "--app", "demo", "--all"] + wrong,
                environment: environment
            )
            #expect(run.status == 64)
        }
        try await register(3)
        try await with { sandbox in
            let run = try await fanfare(arguments(sandbox, "--dry-run"), environment: environment)
            #expect(run.status == 0 && run.output == ["3 devices"])
            #expect(try await sandbox.awaitCounts().received == 0)
        }
    }
}
