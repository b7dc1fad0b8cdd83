import Foundation
import PostgresClient
import TestKit
import Testing

@testable import FanfareService

/// Daemons as processes of their own, so that they can be killed.
@Suite(.database, .serialized, .timeLimit(.minutes(3)))
struct CrashTests {
    private static let unrecorded = 512

    @Test func whatAKilledDaemonLeftIsFinishedByAnother() async throws {
        let sandbox = try await SandboxProcess.start()
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await killAndTakeOver(Flow(database: .current, sandbox: sandbox)))
        } catch {
            outcome = .failure(error)
        }
        await sandbox.stop()
        try outcome.get()
    }

    private func killAndTakeOver(_ flow: Flow) async throws {
        let sandbox = flow.sandbox
        try await flow.sql { world in
            try world.connection.execute(
                """
                SELECT fanfare.adopt();
                SELECT fanfare.register_device('shop', 'apns', lpad(to_hex(g), 64, '0')) FROM generate_series(1, 5000) AS g;
                """
            )
            try world.rule("all", event: "all", to: #"{"everyone": true}"#)
            try world.emit("all")
        }
        let first = try serve(flow)
        _ = try await sandbox.awaitReceived(1000)
        first.signal(SIGKILL)
        #expect(await first.exitStatus() == 137)
        let left = try await flow.sql { try $0.connection.number("SELECT count(*) FROM fanfare.batches") }
        #expect(left > 0, "it was killed in the middle")

        let second = try serve(flow)
        try await flow.until(
            "SELECT NOT EXISTS (SELECT FROM fanfare.batches) AND NOT EXISTS (SELECT FROM fanfare.plans)",
            seconds: 90
        )
        #expect(await second.stop() == 0)
        let pushes = try await sandbox.received()
        #expect(Set(pushes.map(\.token)).count == 5000, "nothing is lost")
        #expect(pushes.count - 5000 <= Self.unrecorded, "\(pushes.count - 5000) repeated")
        let outcomes = try await flow.sql { world in
            try world.connection.column(
                """
                SELECT outcome || '=' || count(DISTINCT device_id) FROM fanfare.deliveries WHERE outcome <> 'retrying'
                GROUP BY outcome
                """
            )
        }
        #expect(outcomes == ["accepted=5000"])
    }

    private func serve(_ flow: Flow) throws -> ProgramProcess {
        // The sandbox's own configuration, for our app.
        let place = flow.sandbox.ready.directory + "/shop.yaml"
        let text = try String(contentsOfFile: flow.sandbox.ready.configFile, encoding: .utf8)
        try text.replacing("\"demo\":", with: "\"shop\":").write(toFile: place, atomically: true, encoding: .utf8)
        return try ProgramProcess(
            FanfareBinary.path(),
            ["serve", "--config", place, "--database-url", flow.database.url],
            environment: ["FANFARE_SEND__UNRECORDED": "\(Self.unrecorded)"]
        )
    }
}
