import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The fates of events and the latencies of pushes, in the tables that charts read.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct TrafficFlowTests {
    @Test func aDaemonThatEndsHasWrittenAllThatItCounted() async throws {
        var ended: Flow?
        try await Flow.run { flow in
            ended = flow
            try await flow.sql { world in
                try world.device("d900", user: "u")
                try world.rule("r", event: "e", to: #"{"users": "$.u"}"#, #""lane": "transactional""#)
                try world.emit("e", #"{"u": "u"}"#)
                try world.emit("nobody asked")
            }
            _ = try await flow.pushes(1, to: "d900")
            try await flow.untilIdle()
        }
        let written = try await #require(ended).sql {
            try $0.connection.column(
                """
                SELECT concat_ws(' ', what, CASE WHEN what = 'fate' THEN code END, lane, sum(count))
                FROM fanfare.traffic WHERE what <> 'outcome'
                GROUP BY what, CASE WHEN what = 'fate' THEN code END, lane ORDER BY 1
                """
            )
        }
        #expect(written == ["fate 1 0 1", "fate 3 0 1", "latency 0 1"])
    }
}
