import FanfareCore
import Foundation
import TestKit
import Testing

@testable import APIKit

/// Tests of the pages of scheduled events.
@Suite(.database) struct UpcomingPageTests {
    private func schedule(_ api: APIWorld) async throws {
        try await api.rule("r", for: "order", to: #"{"users": "$.user"}"#)
        _ = try await api.devices("ann")
        _ = try await api.rows(
            """
            SELECT fanfare.emit_at('order', now() + interval '2 h', '{"user": "ann"}', 'second'),
                fanfare.emit_at('order', now() + interval '1 h', '{"user": "bob"}', 'first'),
                fanfare.emit_local('unruled', now()::timestamp + interval '1 day', 'recipient')
            """
        )
    }

    @Test func whatIsToComeIsListedForAllForAnAppAndForAPerson() async throws {
        try await APIWorld.with { api in
            try await schedule(api)
            let console = try await api.console()
            let all = try await console.scan("/upcoming").text
            let (first, second) = (try #require(all.range(of: "first")), try #require(all.range(of: "second")))
            #expect(first.lowerBound < second.lowerBound && all.contains("on each recipient"))
            let ofApp = try await console.scan("/upcoming?app=shop").text
            #expect(ofApp.contains("first") && !ofApp.contains("unruled"))
            let ofAnn = try await console.scan("/upcoming?user=ann").text
            #expect(ofAnn.contains("second") && !ofAnn.contains("first"))
            let person = try await console.scan("/people?user=ann").text
            #expect(person.contains("Upcoming") && person.contains("second") && !person.contains("first"))
            #expect(try await console.scan("/upcoming?type=none").text.contains("No scheduled event matches"))
        }
    }

    @Test func anOperatorCancelsOne() async throws {
        try await APIWorld.with { api in
            try await schedule(api)
            let id = try await api.rows("SELECT id::text FROM fanfare.scheduled WHERE key = 'second'")[0][0] ?? ""
            let reply = try await api.console(.emitter).perform("/upcoming/\(id)/cancel")
            #expect(reply.status == 303)
            #expect(try await api.rows("SELECT key FROM fanfare.scheduled ORDER BY id") == [["first"], [nil]])
            #expect(try await api.rows("SELECT action, target FROM fanfare.actions") == [["event.cancel", id]])
        }
    }
}
