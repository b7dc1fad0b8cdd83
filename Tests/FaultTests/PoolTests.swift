import Foundation
import PostgresClient
import PrivateCluster
import Programs
import TestKit
import Testing

/// Tests with PgBouncer between PostgreSQL and its clients.
@Suite(.rig, .serialized, .timeLimit(.minutes(5)))
struct PoolTests {
    /// A daemon needs LISTEN and session locks, which a pool does not support: it must report so at start.
    @Test(arguments: [PgBouncer.Mode.transaction, .session])
    func aDaemonBehindAPoolRefusesToStart(mode: PgBouncer.Mode) async throws {
        let rig = try Rig.current
        try await within(rig, mode) { url in
            let check = try await run(rig, ["check", "--database-url", url])
            #expect(check.status == 1)
            #expect(check.lines.contains { $0.contains("fail") && $0.contains("behind a pool") })
            let started = monotonicNanoseconds()
            let serve = try await run(rig, ["serve", "--database-url", url])
            let milliseconds = (monotonicNanoseconds() - started) / 1_000_000
            let complaint = serve.lines.last { $0.contains("leads to a connection pool") }
            report(
                "fault: a daemon behind PgBouncer in \(mode) mode: ended with \(serve.status) after \(milliseconds) ms: "
                    + "\(complaint ?? serve.lines.suffix(3).joined(separator: " | "))"
            )
            #expect(complaint != nil, "it says so")
            #expect(serve.status == 78 && milliseconds < 10_000)
        }
    }

    /// An application may emit through PgBouncer.
    @Test func eventsAreEmittedThroughAPool() async throws {
        let rig = try Rig.current
        try await rig.sandbox.setFaults("[]")
        let audience = try await rig.audience("pool", devices: 20)
        let events = Soak.choose(200, soak: 5000)
        try await within(rig, .transaction) { url in
            // Several applications, which share the few sessions of the pool.
            try await withThrowingTaskGroup { group in
                for writer in 0..<4 {
                    group.addTask {
                        try await onThread {
                            let connection = try PostgresConnection.open(PostgresOptions(url: url))
                            for number in stride(from: writer + 1, through: events, by: 4) {
                                try Traffic.emit(number, to: audience, on: connection)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        try await rig.untilIdle(seconds: 300)
        let audit = try await rig.audit(audience, events: events)
        audit.report("emitted through PgBouncer in transaction mode")
        audit.expectNothingLost("PgBouncer")
        #expect(audit.duplicates == 0)
    }

    private func within(
        _ rig: Rig,
        _ mode: PgBouncer.Mode,
        _ body: (String) async throws -> Void
    ) async throws {
        let pool = try await PgBouncer(to: rig.cluster.port, mode: mode)
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await body("postgres://postgres@127.0.0.1:\(pool.port)/\(rig.databaseName)"))
        } catch {
            outcome = .failure(error)
        }
        await pool.stop()
        try outcome.get()
    }

    private func run(_ rig: Rig, _ arguments: [String]) async throws -> (status: Int32, lines: [String]) {
        let process = try await ProgramProcess(
            try FanfareBinary.path(),
            arguments + ["--config", rig.sandbox.ready.configFile]
        )
        var lines: [String] = []
        for await line in process.output { lines.append(line) }
        for await line in process.errors { lines.append(line) }
        return (await process.exitStatus(), lines)
    }
}
