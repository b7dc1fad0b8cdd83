import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// The effects of a provider's answers, end to end; ``FlowSandboxTrait`` lists the answer for each token.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct FaultTests {
    /// Registers a device for each token, sends each an event, and waits until nothing is due soon.
    ///
    /// - Returns: the outcomes of each token's attempts, and the state of its device: environment and reason.
    private func send(to tokens: [String], _ flow: Flow, rule more: String = "") async throws -> (
        outcomes: [[String]], devices: [String]
    ) {
        let events = try await flow.sql { world in
            try world.rule("r", event: "e", to: #"{"users": "$.u"}"#, more)
            for token in tokens { try world.device(token, user: token) }
            return try tokens.map { try world.emit("e", #"{"u": "\#($0)"}"#) }
        }
        try await flow.until("SELECT count(*) = \(tokens.count) FROM fanfare.events WHERE fate = 'planned'")
        try await flow.untilIdle()
        return try await flow.sql { world in
            let devices = try world.connection.column(
                """
                SELECT concat_ws(' ', t.environment, d.disabled_reason) FROM fanfare.devices AS d
                JOIN fanfare.targets AS t ON t.id = d.target_id
                WHERE d.user_id = ANY ($1::text[]) ORDER BY array_position($1::text[], d.user_id)
                """,
                "{\(tokens.joined(separator: ","))}"
            )
            return (try events.map { try world.outcomes($0) }, devices)
        }
    }

    @Test func answersAreJudgedRetriedAndPruned() async throws {
        try await Flow.run { flow in
            let sent = try await send(to: ["e50001", "e41001", "e40001", "e42901", "a60001"], flow)
            #expect(sent.outcomes[0] == ["retrying/server_error", "accepted/accepted"])
            #expect(sent.outcomes[1] == ["gone/Unregistered"])
            #expect(sent.outcomes[2] == ["retrying/other_environment", "accepted/accepted"])
            #expect(sent.outcomes[3] == ["retrying/device_throttled", "pending/not_attempted"])
            #expect(sent.outcomes[4] == ["accepted/accepted"])
            #expect(sent.devices == ["production", "production Unregistered", "sandbox", "production", "production"])
            let wait = try await flow.sql { world in
                try world.connection.number("SELECT extract(epoch FROM not_before - now())::int FROM fanfare.batches")
            }
            #expect((50...95).contains(wait), "a throttled device waits a minute, ± what jitter adds")
            let retried = try await flow.received(by: "e50001")
            #expect(Set(retried.map { $0.headers["apns-id"] }).count == 1, "equal on every retry")
            #expect(try await flow.received(by: "e40001").map(\.environment) == ["production", "sandbox"])
        }
    }

    @Test func evidenceOlderThanTheRegistrationKeepsTheDevice() async throws {
        try await Flow.run { flow in
            let sent = try await send(to: ["e41101", "e40101"], flow)
            #expect(sent.outcomes[0] == ["retrying/registered_later", "pending/not_attempted"])
            #expect(sent.outcomes[1] == ["retrying/other_environment", "gone/BadDeviceToken"])
            #expect(sent.devices == ["production", "production BadDeviceToken"])
        }
    }

    @Test func anAnswerThatWasLostIsAskedForOnceMore() async throws {
        try await Flow.run { flow in
            let sent = try await send(to: ["ec1001"], flow)
            #expect(sent.outcomes == [["retrying/answer_lost", "accepted/accepted"]])
            #expect(try await flow.received(by: "ec1001").count == 2)
        }
    }

    @Test func atMostOnceIsNeverRepeated() async throws {
        try await Flow.run { flow in
            let sent = try await send(to: ["ec1101"], flow, rule: #""delivery": "at_most_once""#)
            #expect(sent.outcomes == [["unknown/answer_lost"]])
            #expect(try await flow.received(by: "ec1101").count == 1)
        }
    }

    @Test func retriesThatWaitForTheirBudgetHoldUpNobody() async throws {
        try await Flow.run { flow in
            let failing = 100
            try await flow.sql { world in
                try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
                // Enough successful pushes before the failures, so that the breaker does not open.
                for n in 0..<160 { try world.device("a9\(1000 + n)", user: "many") }
                for n in 0..<failing { try world.device("e500\(1000 + n)", user: "many") }
                try world.device("a800", user: "one")
                try world.emit("e", #"{"u": "many"}"#)
            }
            // The retry budget is a tenth of 260 answers and 10 per second, and is used up now.
            _ = try await flow.pushes(failing + 40, to: "e500")
            _ = try await flow.sql { try $0.emit("e", #"{"u": "one"}"#) }
            _ = try await flow.pushes(1, to: "a800")
            let received = try await flow.received(by: "e500").count
            #expect(received < 2 * failing - 30, "the new push waited for the retries before it")
        }
    }
}
