import FanfareCore
import Foundation
import PostgresClient
import TestKit
import Testing
import Threading

@testable import APIKit

@Suite(.database) struct TailTests {
    /// Logs an event without an audience, as the planner does.
    private func log(_ type: String, count: Int = 1) async throws {
        try await onThread { [database = TestDatabase.current] in
            _ = try database.connect().query(
                """
                INSERT INTO fanfare.event_log (day, fate, id, created_at, planned_at, type)
                SELECT fanfare.ring_day(i.id), 3, i.id, now(), clock_timestamp(), $1
                FROM (SELECT fanfare.new_event_id() AS id FROM generate_series(1, $2::int)) AS i
                """,
                type,
                String(count)
            )
        }
    }

    /// Opens a stream, and reads until a text has arrived.
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
            // The poller determines its position when the first reader arrives: lines before that are not new.
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
            let id = try #require(text.firstMatch(of: /id: (\d+)\.\d+\.\d+\n/)).1
            let minuteBefore = (Int64(id) ?? 0) - 60_000_000
            let again = try await follow(api, "/v1/tail?type=other", token, after: "\(minuteBefore)")
            #expect(try await onThread { try again.read(until: "\"event.type\":\"other\"") }.contains("id: "))
            // A server that shuts down ends its streams.
            await api.shutDown()
            try await onThread { _ = try wire.read(until: "event: end") }
        }
    }

    /// Older lines than one read returns, read by one session for all readers that return.
    @Test func whoComeBackGetAllOfItFromOneSession() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.reader)
            let minuteBefore = Int64(Date().timeIntervalSince1970 * 1e6) - 60_000_000
            try await log("t", count: 12_000)
            let readers = 4
            let told = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<readers {
                    group.addTask {
                        let wire = try await follow(api, "/v1/tail?type=t", token, after: "\(minuteBefore)")
                        let text = try await onThread { try wire.read(12_000, of: "\ndata: ") }
                        return Set(text.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("id: ") }).count
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(told == Array(repeating: 12_000, count: readers))
            let sessions = try await api.rows(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE application_name LIKE 'fanfare api%' AND datname = current_database()
                """
            )
            #expect(sessions[0][0].flatMap { Int($0) } ?? .max <= 4 + 2)
        }
    }

    @Test func whatIsMissingIsTold() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.reader)
            let wire = try await follow(api, "/v1/tail", token, after: "1")
            let text = try await onThread { try wire.read(until: "event: gap\ndata: {") + wire.read(until: "}") }
            #expect(text.contains(#""after":"1970-01-01T00:00:00.000001Z""#))
        }
    }

    /// Reads the number of a line, asks for numbers that no line has, and continues.
    @Test func aNumberThatNoLineHasIsTold() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.reader)
            try await log("t")
            let minuteBefore = Int64(Date().timeIntervalSince1970 * 1e6) - 60_000_000
            let wire = try await follow(api, "/v1/tail?type=t", token, after: "\(minuteBefore)")
            let text = try await onThread { try wire.read(until: "data: ") }
            let place = try #require(text.firstMatch(of: /id: (\d+\.\d+)\.\d+\n/)).1
            let again = try await follow(api, "/v1/tail?type=t", token, after: "\(place).\(1 << 53)")
            #expect(try await onThread { try again.read(until: "\"event.type\":\"t\"") }.contains("event: gap"))
            let made = ["Last-Event-ID": "\(place).9223372036854775807"]
            #expect(try await api.ask("GET", "/v1/tail", token: token, made).status == 400)
        }
    }

    @Test func aPlaceInTheFutureHidesNothingFromOthers() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.reader)
            let wires = [
                try await follow(api, "/v1/tail?type=t", token, after: "\(Int64.max)"),
                try await follow(api, "/v1/tail?type=t", token),
            ]
            let isTold = Locked(false)
            async let told: Void = onThread {
                defer { isTold.withLock { $0 = true } }
                for wire in wires { _ = try wire.read(until: "\"event.type\":\"t\"") }
            }
            while !isTold.withLock({ $0 }) { try await log("t") }
            try await told
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
