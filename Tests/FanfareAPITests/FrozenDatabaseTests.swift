import FanfareCore
import Foundation
import Glibc
import TestKit
import Testing

@testable import APIKit
@testable import FanfareTools

@Suite(.database) struct FrozenDatabaseTests {
    /// The kernel of a frozen server still acknowledges packets: only a timeout detects it.
    @Test func aDatabaseThatFreezesIsToldSoon() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.reader)
            #expect(try await api.ask("GET", "/v1/status", token: token).status == 200)
            let sessions = try await api.rows(
                """
                SELECT pid FROM pg_stat_activity
                WHERE application_name LIKE 'fanfare api%' AND datname = current_database()
                """
            ).compactMap { $0[0].flatMap { pid_t($0) } }
            #expect(sessions.count >= 2)
            for session in sessions { #expect(kill(session, SIGSTOP) == 0) }
            defer { for session in sessions { kill(session, SIGCONT) } }
            // An unknown id may be a new token's, so the database is queried.
            let unknown = APIToken(id: 999, secret: String(repeating: "ab", count: 32)).text
            let port = api.port
            let began = ContinuousClock.now
            let reply = try await onThread("client") {
                let wire = try Wire(port: port)
                wire.send(
                    "GET /v1/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(unknown)\r\n\r\n"
                )
                return try wire.reply()
            }
            // After 0.9 s, or later on a busy machine. Without that limit, the session would wait for 35 s.
            #expect(ContinuousClock.now - began < .seconds(20))
            #expect(reply.status == 503 && reply.headers["retry-after"] == "1")
            #expect(try reply.json["hint"] == "Nothing was changed; try again.")
        }
    }
}
