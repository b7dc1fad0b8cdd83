import FanfareCore
import Foundation
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// Apps with rates through a daemon, to the simulated providers.
@Suite(.database, .flowSandbox, .timeLimit(.minutes(3)))
struct PolicyFlowTests {
    private static func register(_ count: Int, _ prefix: String, app: String = "shop") -> String {
        """
        SELECT fanfare.register_device('\(app)', 'apns', '\(prefix)' || lpad(to_hex(n), 6, '0'), '\(prefix)')
        FROM generate_series(1, \(count)) AS n
        """
    }

    private static func rule(_ name: String, app: String = "shop", lane: String) -> String {
        """
        SELECT fanfare.put_rule('{"app": "\(app)", "name": "\(name)", "event": "\(name)", "to": {"users": "$.u"}, "lane": "\(lane)",
            "message": {"notification": {"title": "T"}}}')
        """
    }

    /// One rate covers a one-off rule and a broadcast; the transactional lane and another app are not affected.
    @Test func anAppsRateHoldsForAllItsRulesAndNobodyElses() async throws {
        try await Flow.idle().sql { try $0.put(policy: #"{"rate": "5/s"}"#) }
        try await Flow.run { configuration in
            configuration.apps["other"] = configuration.apps["shop"]
        } _: { flow in
            try await flow.sql { world in
                for statement in [
                    Self.register(150, "da"), Self.register(150, "db"), Self.register(1, "dc"),
                    Self.register(300, "dd", app: "other"), Self.rule("one", lane: "normal"),
                    Self.rule("two", lane: "bulk"),
                    Self.rule("now", lane: "transactional"), Self.rule("else", app: "other", lane: "bulk"),
                ] { try world.connection.execute(statement) }
            }
            try await flow.until("SELECT count(*) = 4 FROM fanfare.rule_versions WHERE state = 'active'")
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            let start = time.tv_sec * 1_000_000_000 + time.tv_nsec
            try await flow.sql { world in
                try world.emit("two", #"{"u": "db"}"#)
                try world.emit("one", #"{"u": "da"}"#)
            }
            #expect(try await flow.pushes(1, to: "d").count >= 1)
            try await flow.sql { world in
                try world.emit("else", #"{"u": "dd"}"#)
                try world.emit("now", #"{"u": "dc"}"#)
            }
            // At its rate the app's pushes would take a minute; the others finish first, even on a busy machine.
            let others = try await [flow.pushes(300, to: "dd"), flow.pushes(1, to: "dc")]
            #expect(others.map { Set($0.map(\.token)).count } == [300, 1])
            let paced = try await (flow.received(by: "da") + flow.received(by: "db")).map(\.nanoseconds).sorted()
            #expect(paced.count < 300, "they waited")
            for (number, time) in paced.enumerated() {
                let elapsed = Double(time - start) / 1e9
                #expect(Double(number + 1) <= 1.5 + elapsed * 5 + 0.001, "push \(number + 1) came after \(elapsed) s")
            }
            try await flow.sql { try $0.put(policy: "{}") }
            let all = try await flow.pushes(601, to: "d")
            #expect(Set(all.map(\.token)).count == 601)
        }
    }

    /// With the rate it would take a minute.
    @Test func withoutItsRateTheRestGoesAtOnce() async throws {
        try await Flow.idle().sql { try $0.put(policy: #"{"providers": {"apns": {"rate": "5/s"}}}"#) }
        try await Flow.run { flow in
            try await flow.sql { world in
                try world.connection.execute(Self.register(300, "cf"))
                try world.connection.execute(Self.rule("one", lane: "normal"))
            }
            try await flow.until("SELECT count(*) = 1 FROM fanfare.rule_versions WHERE state = 'active'")
            _ = try await flow.sql { try $0.emit("one", #"{"u": "cf"}"#) }
            #expect(try await flow.pushes(1, to: "cf").count < 100)
            try await flow.sql { try $0.put(policy: "{}") }
            #expect(try await Set(flow.pushes(300, to: "cf").map(\.token)).count == 300)
        }
    }
}
