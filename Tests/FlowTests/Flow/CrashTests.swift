import Foundation
import PostgresClient
import Programs
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// Daemons as separate processes, so that they can be killed.
@Suite(.database, .serialized, .timeLimit(.minutes(Soak.choose(4, soak: 60))))
struct CrashTests {
    private static let unrecorded = 512
    private static let isIdle = """
        SELECT NOT EXISTS (SELECT FROM fanfare.outbox) AND NOT EXISTS (SELECT FROM fanfare.plans)
            AND NOT EXISTS (SELECT FROM fanfare.batches)
        """

    /// Fanfare uses no advisory lock with this key.
    private static let haltKey = 7_007_007
    /// Makes planners wait for a lock once they have planned more than a share of an audience.
    private static let haltSQL = """
        CREATE TABLE public.halt AS SELECT NULL::bigint AS share;
        CREATE FUNCTION public.halt() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF (SELECT sum(cardinality(device_ids)) FROM fanfare.batches) >= (SELECT share FROM public.halt) THEN
                PERFORM pg_advisory_xact_lock_shared(\(haltKey));
            END IF;
            RETURN NULL;
        END
        $$;
        CREATE TRIGGER halt AFTER INSERT ON fanfare.batches EXECUTE FUNCTION public.halt();
        """
    private static let isHalted = """
        SELECT EXISTS (
            SELECT FROM pg_locks
            WHERE locktype = 'advisory' AND objid = \(haltKey) AND NOT granted
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
        """

    @Test func whatAKilledDaemonLeftIsFinishedByAnother() async throws {
        try await withSandbox { flow in
            let devices = Soak.choose(5000, soak: 100_000)
            let kills = Soak.choose(1, soak: 20)
            try await broadcast(flow, devices: devices, app: "shop")
            // The last answers are delayed, so that a daemon cannot finish before it is killed.
            try await flow.sandbox.setFaults(#"[{"do": "slow", "ms": 600000, "skip": \#(devices * 9 / 10)}]"#)
            let moments = killMoments(kills, upTo: devices)
            for moment in moments {
                let daemon = try await serve(flow)
                _ = try await flow.sandbox.awaitCounts(received: moment, seconds: 120)
                daemon.signal(SIGKILL)
                #expect(await daemon.exitStatus() == 137)
            }
            #expect(try await !flow.sql { try $0.connection.text(Self.isIdle) == "t" }, "it was killed in the middle")
            try await flow.sandbox.setFaults("[]")
            let last = try await serve(flow)
            try await flow.until(Self.isIdle, seconds: 300)
            #expect(await last.stop() == 0)
            let pushes = try await flow.sandbox.received()
            #expect(Set(pushes.map(\.token)).count == devices, "nothing is lost")
            let repeated = pushes.count - devices
            #expect(repeated <= kills * Self.unrecorded, "\(repeated) repeated")
            if Soak.isOn { print("soak: \(kills) kills among \(devices) pushes, \(repeated) repeated") }
            let outcomes = try await flow.sql { world in
                try world.connection.column(
                    """
                    SELECT outcome || '=' || count(DISTINCT device_id) FROM fanfare.deliveries WHERE outcome <> 'retrying'
                    GROUP BY outcome
                    """
                )
            }
            #expect(outcomes == ["accepted=\(devices)"])
        }
    }

    @Test func anAudienceIsPlannedOnceThoughPlannersAreKilled() async throws {
        try await withSandbox { flow in
            // Four slices.
            let devices = Soak.choose(80_000, soak: 1_000_000)
            let kills = Soak.choose(2, soak: 15)
            // No daemon has credentials for this app, so its batches stay in the queue and can be counted.
            try await broadcast(flow, devices: devices, app: "elsewhere")
            try await flow.sql { try $0.connection.execute(Self.haltSQL) }
            for kill in 1...kills {
                let share = devices * kill / (kills + 1)
                let daemon = try await flow.sql { world in
                    // Planning stops at the share, however late the test checks.
                    try world.connection.execute(
                        "UPDATE public.halt SET share = \(share); SELECT pg_advisory_lock(\(Self.haltKey))"
                    )
                    let daemon = try ChildPrograms.thread.wait { try await serve(flow) }
                    try world.connection.waitUntil(Self.isHalted, seconds: 120)
                    daemon.signal(SIGKILL)
                    return daemon
                }
                #expect(await daemon.exitStatus() == 137)
            }
            #expect(try await flow.sql { try $0.connection.number("SELECT count(*) FROM fanfare.plans") } == 1)
            try await flow.sql { try $0.connection.execute("UPDATE public.halt SET share = NULL") }
            let last = try await serve(flow)
            try await flow.until("SELECT NOT EXISTS (SELECT FROM fanfare.plans)", seconds: 120)
            #expect(await last.stop() == 0)
            let planned = try await flow.sql { world in
                try world.connection.column(
                    """
                    SELECT n FROM (
                        SELECT count(*) AS deliveries, count(DISTINCT d.id) AS devices
                        FROM fanfare.batches CROSS JOIN unnest(device_ids) AS d (id)
                    ) AS counts, unnest(ARRAY[deliveries, devices]) AS n
                    """
                )
            }
            #expect(planned == ["\(devices)", "\(devices)"])
        }
    }

    /// Returns when to kill, in pushes received so far: any number except near the end.
    private func killMoments(_ kills: Int, upTo devices: Int) -> [Int] {
        var generator = SeededGenerator(seed: 20)
        return (0..<kills).map { _ in Int.random(in: devices / 50..<devices * 4 / 5, using: &generator) }.sorted()
    }

    private func withSandbox(_ body: (Flow) async throws -> Void) async throws {
        let sandbox = try await SandboxProcess.start()
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await body(Flow(database: .current, sandbox: sandbox)))
        } catch {
            outcome = .failure(error)
        }
        await sandbox.stop()
        try outcome.get()
    }

    private func broadcast(_ flow: Flow, devices: Int, app: String) async throws {
        try await flow.sql { world in
            // The first registration creates the app and the target.
            try world.connection.execute(
                """
                SELECT fanfare.adopt();
                SELECT fanfare.register_device('\(app)', 'apns', lpad(to_hex(1), 64, '0'));
                INSERT INTO fanfare.devices (app_id, target_id, provider, token, token_hash, registered_at)
                SELECT d.app_id, d.target_id, d.provider, x.token, sha256(convert_to(x.token, 'UTF8')), now()
                FROM fanfare.devices AS d
                CROSS JOIN (SELECT lpad(to_hex(g), 64, '0') AS token FROM generate_series(2, \(devices)) AS g) AS x;
                SELECT fanfare.put_rule('{"app": "\(app)", "name": "all", "event": "all", "to": {"everyone": true},
                    "message": {"notification": {"title": "News"}}}');
                """
            )
            // Otherwise the first daemon could plan the event before it has checked the rule.
            try RuleChecker(logger: world.context.logger).check(on: world.connection)
            try world.emit("all")
        }
    }

    private func serve(_ flow: Flow) async throws -> ProgramProcess {
        // The sandbox's own configuration for the app.
        let place = flow.sandbox.ready.directory + "/shop.yaml"
        let text = try String(contentsOfFile: flow.sandbox.ready.configFile, encoding: .utf8)
        try text.replacing("\"demo\":", with: "\"shop\":").write(toFile: place, atomically: true, encoding: .utf8)
        return try await ProgramProcess(
            FanfareBinary.path(),
            ["serve", "--config", place, "--database-url", flow.database.url],
            environment: ["FANFARE_SEND__UNRECORDED": "\(Self.unrecorded)"]
        )
    }
}
