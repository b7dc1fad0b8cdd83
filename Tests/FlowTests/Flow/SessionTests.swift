import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// A daemon opens `database.connections` sessions, not counting control, the scheduler and foreign channels.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct SessionTests {
    @Test func connectionsAreSpentOnSlicersAndMaintenance() {
        #expect(WorkSessions(connections: 4).slicers == 1)
        #expect(!WorkSessions(connections: 4).isMaintenanceApart)
        for connections in 5...16 {
            let sessions = WorkSessions(connections: connections)
            #expect(sessions.isMaintenanceApart)
            // Recorder, claimer, planner, maintenance.
            #expect(sessions.slicers + 4 == connections)
        }
    }

    @Test(arguments: [(4, []), (5, ["orders"]), (7, [])])
    func aDaemonOpensWhatItIsAllowedAndDoesAllItsWork(connections: Int, channels: [String]) async throws {
        try await Flow.run({
            $0.database.connections = connections
            $0.listen = channels
        }) { flow in
            let sessions = """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name ~ '^fanfare (?!test)'
                """
            let events = try await flow.sql { world in
                // Rules that only maintenance can check, a large audience, and an event that fails in every set.
                try world.connection.execute(
                    """
                    ALTER TABLE fanfare.event_keys ADD CONSTRAINT sound CHECK (key <> 'bad');
                    SELECT fanfare.register_device('shop', 'apns', 'a6' || lpad(to_hex(g), 62, '0'), 'u' || g)
                    FROM generate_series(1, 300) AS g;
                    SELECT fanfare.put_rule(format('{"app": "shop", "name": "%s", "event": "%s", "to": %s,
                        "message": {"notification": {"title": "T"}}}', name, name, audience)::jsonb)
                    FROM (VALUES ('all', '{"everyone": true}'), ('one', '{"users": "$.u"}')) AS r (name, audience)
                    """
                )
                try world.connection.waitUntil("SELECT count(*) = 2 FROM fanfare.rule_versions WHERE state = 'active'")
                let poisoned = try world.emit("one", #"{"u": "u1"}"#, key: "bad")
                let good = try world.emit("one", #"{"u": "u1"}"#)
                return [poisoned, good, try world.emit("all"), try world.emit("all")]
            }
            try await flow.until("SELECT count(*) = 3 FROM fanfare.events WHERE fate = 'planned'")
            try await flow.until("SELECT fate = 'refused' FROM fanfare.events WHERE id = \(events[0])")
            try await flow.untilIdle()
            let accepted = try await flow.sql { world in
                try world.connection.number("SELECT count(*) FROM fanfare.deliveries WHERE outcome = 'accepted'")
            }
            #expect(accepted == 601)
            // The planner's second session is closed when it has no more work.
            let opened = connections + (channels.isEmpty ? 2 : 3)
            try await flow.until("SELECT (\(sessions)) = \(opened)")
        }
    }

    @Test func fewerThanNeededAreRefused() throws {
        let error = #expect(throws: ConfigurationError.self) {
            try toolConfiguration("database: { connections: 3 }")
        }
        #expect(
            error?.description.contains("database.connections: expected an integer from 4 to 16, found 3") == true,
            "\(String(describing: error))"
        )
    }
}
