import FanfareCore
import Foundation
import PostgresClient
import TestKit
import Testing
import Threading

@testable import FanfareAPI

@Suite(.database) struct TailTests {
    /// An event that nobody waits for, as the planner would leave it in the log.
    private func log(_ type: String) async throws {
        try await onThread { [database = TestDatabase.current] in
            _ = try database.connect().query(
                """
                INSERT INTO fanfare.event_log (day, fate, id, created_at, planned_at, type)
                SELECT fanfare.ring_day(i.id), 3, i.id, now(), clock_timestamp(), $1
                FROM (SELECT fanfare.new_event_id() AS id) AS i
                """,
                type
            )
        }
    }

    /// Opens a stream, and reads until a text has come.
    private func follow(_ api: APIWorld, _ target: String, _ token: String, after: String? = nil) async throws -> Wire {
        let (port, more) = (api.port, after.map { "Last-Event-ID: \($0)\r\n" } ?? "")
        return try await onThread {
            let wire = try Wire(port: port)
            wire.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n\(more)\r\n")
            let head = try wire.reply()
            guard head.status == 200, head.headers["content-type"] == "text/event-stream" else { throw Wire.Ended() }
            return wire
        }
    }

    @Test func whatHappensIsToldToWhomItConcerns() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.reader)
            let wire = try await follow(api, "/v1/tail?type=wanted", token)
            _ = try await onThread { try wire.read(until: "retry: 2000") }
            // The poller takes its bearings when the first viewer has come: what is there then is not new.
            let isTold = Locked(false)
            async let told = onThread {
                defer { isTold.withLock { $0 = true } }
                return try wire.read(until: "\"event.type\":\"wanted\"")
            }
            while !isTold.withLock({ $0 }) {
                try await log("other")
                try await log("wanted")
            }
            let text = try await told
            #expect(!text.contains("other"))
            let id = try #require(text.firstMatch(of: /id: (\d+)\n/)).1
            let minuteBefore = (Int64(id) ?? 0) - 60_000_000
            let again = try await follow(api, "/v1/tail?type=other", token, after: "\(minuteBefore)")
            #expect(try await onThread { try again.read(until: "\"event.type\":\"other\"") }.contains("id: "))
            // A server that stops lets its viewers go.
            await api.shutDown()
            try await onThread { _ = try wire.read(until: "event: end") }
        }
    }

    @Test(arguments: ["/v1/tail?nobody=x", "/v1/tail?outcome=great", "/v1/tail?event_id=x"])
    func aFilterThatThereIsNotIsRefused(target: String) async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.reader)
            #expect(try await api.ask("GET", target, token: token).status == 400)
        }
    }
}
