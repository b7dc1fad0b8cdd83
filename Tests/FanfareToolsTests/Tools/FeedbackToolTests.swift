import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareFeedback
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore
@testable import FanfareTools
@testable import fanfare

/// The operators' commands for hooks, and their configuration.
@Suite(.database)
struct FeedbackToolTests {
    @Test func hooksAreListedReplayedResumedAndForgotten() async throws {
        let database = try toolDatabase()
        #expect(FeedbackState.table(try await database.feedbackHooks()).hasPrefix("no hook"))
        try await onThread { [database = TestDatabase.current] in
            let world = try World(database)
            _ = try world.connection.run(SQL.putFeedbackHook("crm", [64, 96], "shop"))
            try world.connection.execute(
                """
                INSERT INTO fanfare.feedback (batch_id, number, closed_at) VALUES (1, 1, now() - interval '2 h'), (2, 2, now());
                UPDATE fanfare.feedback_cursors SET number = 2, position = 32767, ended_at = now(), error = 'it answered 410', failures = 1
                """
            )
        }
        let hook = try #require(try await database.feedbackHooks().first).json
        #expect(hook["state"]?.stringValue == "ended")
        #expect(hook["app"]?.stringValue == "shop")
        #expect(hook["outcomes"] == ["gone", "rejected"])
        #expect(hook["waiting_batches"] == 0)
        #expect(try await database.replayFeedback("crm", since: Since("1h")) == 1)
        #expect(try await database.replayFeedback("crm", since: Since("1d")) == 2)
        #expect(try await database.feedbackHooks().first?.json["waiting_batches"] == 2)
        try await database.resumeFeedback("crm")
        #expect(try await database.feedbackHooks().first?.json["state"]?.stringValue == "failing")
        try await database.forgetFeedback("crm")
        #expect(try await database.feedbackHooks().isEmpty)
        await #expect(throws: ToolError.self) { try await database.resumeFeedback("crm") }
        await #expect(throws: ToolError.self) {
            try await database.replayFeedback("crm", since: Since("yesterday-ish"))
        }
    }

    /// The count stops at a limit, so that a large backlog does not slow down the command.
    @Test func whatWaitsIsCountedSoFarOnly() async throws {
        let database = try toolDatabase()
        try await onThread { [database = TestDatabase.current] in
            let world = try World(database)
            _ = try world.connection.run(SQL.putFeedbackHook("crm", [64], nil))
            try world.connection.execute(
                """
                INSERT INTO fanfare.feedback (batch_id, number, closed_at)
                SELECT n, CASE WHEN n <= 9000 THEN n END, now() - interval '1 hour' FROM generate_series(1, 10000) AS n
                """
            )
        }
        let most = try #require(try await database.feedbackHooks().first)
        #expect(most.json["waiting_batches"] == 10000 && most.json["is_more"] == false)
        #expect(!FeedbackState.table([most]).contains("10000+"))
        try await onThread { [database = TestDatabase.current] in
            let world = try World(database)
            try world.connection.execute("INSERT INTO fanfare.feedback (batch_id) VALUES (10001)")
            #expect(try world.connection.text("SELECT lag >= interval '1 hour' FROM fanfare.feedback_state") == "t")
        }
        let more = try #require(try await database.feedbackHooks().first)
        #expect(more.json["waiting_batches"] == 10000 && more.json["is_more"] == true)
        #expect(FeedbackState.table([more]).contains("10000+"))
    }

    @Test(
        arguments: [
            ("{ url: 'https://a.example/b', secret_file: /s, outcomes: [gone, rejected] }", nil),
            ("{ channel: fanfare_feedback }", nil),
            ("{ outcomes: [gone] }", "feedback.crm.url: is required, or `channel` instead"),
            ("{ url: 'https://a.example/b' }", "feedback.crm.secret_file: is required beside `url`"),
            ("{ url: 'http://a.example/b', secret_file: /s }", "feedback.crm.url: expected https://HOST[:PORT]/PATH"),
            ("{ url: 'https://a.example/b', channel: c }", "feedback.crm.channel: is one thing and `url` another"),
            ("{ channel: c, ca_file: /c }", "feedback.crm.ca_file: is for a `url`"),
            ("{ channel: 'a b' }", "feedback.crm.channel: expected a NOTIFY channel"),
            ("{ channel: c, outcomes: [gon] }", "is not an outcome that can be told; did you mean “gone”?"),
            ("{ channel: c, outcomes: [retrying] }", "“retrying” is not an outcome that can be told"),
            ("{ channel: c, outcomes: [] }", "feedback.crm.outcomes: has no entry, and `reports` has none"),
            ("{ channel: c, outcomes: [], reports: [] }", "feedback.crm.outcomes: has no entry"),
            ("{ channel: c, outcomes: [gone], reports: [] }", nil),
            ("{ chanel: c }", "did you mean `channel`?"),
        ] as [(String, String?)]
    ) func whatHooksMayBe(text: String, complaint: String?) throws {
        do {
            let configuration = try toolConfiguration("feedback: { crm: \(text) }")
            #expect(complaint == nil)
            #expect(configuration.feedback["crm"]?.outcomes.first == .gone)
        } catch let error as ConfigurationError {
            #expect(error.description.contains(try #require(complaint, "\(error)")), "\(error)")
        }
    }

    @Test func aHookMayReceiveOnlyReports() throws {
        let hook = try toolConfiguration("feedback: { crm: { channel: c, outcomes: [], reports: [opened] } }").feedback[
            "crm"
        ]
        #expect(hook?.outcomes == [] && hook?.reports == [.opened])
    }

    @Test func whatComesAfterTheHostIsNotShown() throws {
        let url = "https://crm.example.com/fanfare?key=hidden"
        let old = try toolConfiguration("feedback: { crm: { channel: c } }")
        let new = try toolConfiguration("feedback: { crm: { url: '\(url)', secret_file: /s } }")
        let changes = new.changes(from: old).map(\.description)
        #expect(changes.contains("feedback.crm.url: none → https://crm.example.com"))
        #expect(changes.contains("feedback.crm.channel: c → none"))
        #expect(!changes.joined().contains("hidden"))
        #expect(!changes.joined().contains("needs a restart"))
    }
}
