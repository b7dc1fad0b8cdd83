import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareRecords
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore
@testable import FanfareTools

/// The prune fuse, from a provider's answers to the operator who closes it.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(10)))
struct FuseTests {
    private static let alarm = """
        SELECT EXISTS (SELECT FROM fanfare.health WHERE name = 'alarm: prune_fuse/shop/production' AND NOT ok)
        """
    private static let message = "too many invalid tokens; pruning is stopped until an operator resumes it"

    @Test func whenTooManyTokensSeemDeadPruningStopsUntilAnOperatorHasLooked() async throws {
        let lines = try await Flow.run({ $0.send.batch = 500 }) { first in
            let event = try await first.sql { world in
                // In each batch of 500, the provider reports 150 tokens as unregistered.
                try world.connection.execute(
                    """
                    SELECT fanfare.register_device('shop', 'apns',
                        CASE WHEN g % 10 < 3 THEN 'e410' ELSE 'a800' END || lpad(to_hex(g), 60, '0'), 'u' || g)
                    FROM generate_series(1, 2000) AS g
                    """
                )
                try world.rule("all", event: "all", to: #"{"everyone": true}"#)
                try world.rule("one", event: "one", to: #"{"users": "$.u"}"#)
                return try world.emit("all")
            }
            try await first.until("SELECT fate = 'planned' FROM fanfare.events WHERE id = \(event)")
            // 2,000 pushes, while other suites use the machine too.
            try await first.untilIdle(seconds: 180)
            try await first.until(Self.alarm)
            let counts = try await first.sql { world in
                try ["accepted", "gone", "rejected"].map { outcome in
                    try world.connection.number(
                        "SELECT count(*) FROM fanfare.deliveries WHERE outcome = $1",
                        outcome
                    )
                }
            }
            // With fewer than 1,000 answers, as many devices are disabled as 1,000 answers would allow.
            #expect(counts[0] == 1400)
            #expect(counts[1] <= 250)
            #expect(counts[1] + counts[2] == 600)
            #expect(try await disabled(first) == counts[1])

            let second = try await Flow.run { second in
                let agreed = """
                    SELECT count(*) = 2 FROM fanfare.instances WHERE report -> 'fuses_blown' = '["shop/production"]'
                    """
                try await second.until(agreed)
                #expect(try await push(toDead: "e41090", second) == "rejected/Unregistered")
            }
            #expect(second.filter { $0.contains(Self.message) }.count == 1)
            let status = try await toolDatabase().status()
            #expect(status.daemons.first?.json(at: status.now)["fuses_blown"] == ["shop/production"])
            #expect(status.health.contains { $0.name == "alarm: prune_fuse/shop/production" && !$0.isOK })
        }
        let alarms = lines.filter { $0.contains(Self.message) }
        #expect(alarms.count == 1)
        #expect(alarms.first?.contains(#""level":"error""#) == true)
        #expect(alarms.first?.contains(#""app":"shop","environment":"production""#) == true)
        try await closeAfterRestart()
    }

    /// Two daemons at full speed: all answers may have arrived before the first is evaluated.
    @Test(arguments: [("e410", 250), ("e401", PruneFuse.alwaysFollowed)])
    func aFastBroadcastToDeadTokensDisablesAsFewAsASlowOne(prefix: String, limit: Int) async throws {
        try await Flow.run { first in
            try await Flow.run { second in
                let event = try await second.sql { world in
                    try world.connection.execute(
                        """
                        SELECT fanfare.register_device('shop', 'apns', '\(prefix)' || lpad(to_hex(g), 60, '0'), 'u' || g)
                        FROM generate_series(1, 2000) AS g
                        """
                    )
                    try world.rule("all", event: "all", to: #"{"everyone": true}"#)
                    return try world.emit("all")
                }
                try await second.until("SELECT fate = 'planned' FROM fanfare.events WHERE id = \(event)")
                // Two daemons and 2,000 pushes, on a busy machine.
                try await second.untilIdle(seconds: 300)
                try await second.until(Self.alarm)
                let disabled = try await disabled(second)
                #expect(disabled <= limit)
                #expect(disabled > 0)
            }
        }
    }

    private func closeAfterRestart() async throws {
        try await Flow.run { flow in
            #expect(try await push(toDead: "e41091", flow) == "rejected/Unregistered", "a restart closes no fuse")
            let tool = try toolDatabase()
            let request = RestoreRequest(app: "shop", since: Since("1h"), reason: nil, environment: nil)
            let disabledBefore = try await disabled(flow)
            #expect(try await tool.restore(request, isDryRun: false).map(\.devices) == [disabledBefore])
            #expect(try await disabled(flow) == 0)
            #expect(
                try await tool.blownFuses(app: "shop") == ["production"],
                "restoring is one decision, pruning another"
            )
            #expect(try await tool.resumePruning(app: "shop", environment: "sandbox").isEmpty)
            #expect(try await tool.resumePruning(app: "shop", environment: nil) == ["production"])
            #expect(try await tool.resumePruning(app: "shop", environment: nil).isEmpty)
            try await flow.until("SELECT count(*) = 1 FROM fanfare.instances WHERE report -> 'fuses_blown' = '[]'")
            #expect(try await flow.sql { try $0.connection.text(Self.alarm) } == "f")
            #expect(try await push(toDead: "e41092", flow) == "gone/Unregistered")
            #expect(try await disabled(flow) == 1)
        }
    }

    /// Sends an event to one device, and waits for its outcome.
    private func push(toDead token: String, _ flow: Flow) async throws -> String? {
        let event = try await flow.sql { world in
            try world.device(token, user: token)
            return try world.emit("one", #"{"u": "\#(token)"}"#)
        }
        try await flow.until("SELECT fate = 'planned' FROM fanfare.events WHERE id = \(event)")
        try await flow.untilIdle()
        return try await flow.sql { try $0.outcomes(event).first }
    }

    private func disabled(_ flow: Flow) async throws -> Int64 {
        try await flow.sql { world in
            try world.connection.number("SELECT count(*) FROM fanfare.devices WHERE disabled_at IS NOT NULL")
        }
    }
}
