import FanfareCore
import Foundation
import TestKit
import Testing

@testable import APIKit
@testable import FanfareHTTP

/// Tests of what clients without a token may cost clients with one, and probes.
@Suite(.database) struct StrangerTests {
    private static let livez = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"

    /// Sends a text on a connection of its own, and waits for the first response.
    private func answer(_ api: APIWorld, _ text: String) async throws -> Reply {
        try await onThread { [port = api.port] in
            let wire = try Wire(port: port)
            wire.send(text)
            return try wire.reply()
        }
    }

    /// Sends a request on a connection that stays open, and reads the response.
    private static func open(_ port: Int, _ text: String) throws -> Wire {
        let wire = try Wire(port: port)
        wire.send(text)
        let status = try wire.reply().status
        #expect(status == 200)
        return wire
    }

    @Test func oneTooManyEndsTheStrangerThatIsIdleLongest() async throws {
        try await APIWorld.with("  connections: 4\n") { api in
            let token = try await api.token(.reader)
            try await onThread { [port = api.port] in
                let known = try Wire(port: port)
                let asked =
                    "GET /v1/tail?nobody=x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n\r\n"
                known.send(asked)
                #expect(try known.reply().status == 400)
                let strangers = try (0..<3).map { _ in try Self.open(port, Self.livez) }
                // The first of them sends another request, so the second is idle longest.
                strangers[0].send(Self.livez)
                #expect(try strangers[0].reply().status == 200)
                let probe = try Wire(port: port)
                probe.send(Self.livez)
                #expect(try probe.reply().status == 200)
                strangers[1].awaitEnd()
                for wire in [strangers[0], strangers[2]] {
                    wire.send(Self.livez)
                    #expect(try wire.reply().status == 200)
                }
                known.send(asked)
                #expect(try known.reply().status == 400)
            }
        }
    }

    @Test func aTokenHasSoManyStreams() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.reader)
            let asked = "GET /v1/tail HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n\r\n"
            let wires = try await onThread { [port = api.port] in
                try (0..<StreamSlots.limit).map { _ in try Self.open(port, asked) }
            }
            let refused = try await answer(api, asked)
            #expect(refused.status == 429 && refused.body.contains("use another token"))
            let other = try await api.token(.reader)
            #expect(try await answer(api, asked.replacing(token, with: other)).status == 200)
            withExtendedLifetime(wires) {}
        }
    }

    @Test func probesHaveAnAddressOfTheirOwn() async throws {
        try await APIWorld.with(onlyHealth: true) { api in
            var answered: [String] = []
            for path in ["/livez", "/readyz", "/metrics", "/v1/openapi.json", "/v1/status", "/login", "/"] {
                let status = try await api.ask("GET", path).status
                #expect(status == 200 || status == 404)
                if status == 200 { answered.append(path) }
            }
            #expect(answered == ["/livez", "/readyz", "/metrics"])
        }
    }

    /// The body is never sent: a route that waited for it would not respond.
    @Test(arguments: [
        ("/events/1/cancel", "1000", 303), ("/logout", "1000", 303), ("/login", "4097", 413),
        ("/login", "1000000", 413),
    ])
    func formsOfStrangersAreNotRead(path: String, length: String, status: Int) async throws {
        try await APIWorld.with { api in
            let reply = try await answer(
                api,
                """
                POST \(path) HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\n\
                Content-Type: application/x-www-form-urlencoded\r\nContent-Length: \(length)\r\n\r\n
                """
            )
            #expect(reply.status == status)
        }
    }

    @Test(arguments: ["zz\r\n{}", "-1\r\n{}", "11111111111111111\r\n{}", "2\r\n{}abc\r\n"])
    func brokenChunksAreTheClientsMistake(chunks: String) async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.emitter)
            let head = """
                POST /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n\
                Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n
                """
            #expect(try await answer(api, head + chunks).status == 400)
        }
    }

    @Test(arguments: [
        ("GET /livez HTTP/1.1", "", 400), ("GET /livez HTTP/1.1", "Host: localhost\r\nHost: localhost\r\n", 400),
        ("GET /livez HTTP/1.0", "", 200), ("GET http://localhost/livez HTTP/1.1", "Host: evil.example\r\n", 200),
        ("GET http://evil.example/livez HTTP/1.1", "Host: localhost\r\n", 421),
        ("GET HTTPS://evil.example?x HTTP/1.1", "Host: localhost\r\n", 421),
        ("GET http:///livez HTTP/1.1", "Host: localhost\r\n", 400),
        ("GET http://a@localhost/livez HTTP/1.1", "Host: localhost\r\n", 400),
    ])
    func aRequestNamesOneHost(line: String, hosts: String, status: Int) async throws {
        try await APIWorld.with { api in
            let reply = try await answer(api, "\(line)\r\n\(hosts)\r\n")
            #expect(reply.status == status)
        }
    }

    @Test func whoWaitsToSendABodyIsTold() async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.emitter)
            let head = { @Sendable (token: String) -> String in
                """
                POST /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\nExpect: 100-continue\r\n\
                Content-Type: application/json\r\nContent-Length: 12\r\n\r\n
                """
            }
            try await onThread { [port = api.port] in
                let wire = try Wire(port: port)
                wire.send(head(token))
                #expect(try wire.reply().status == 100)
                wire.send(#"{"type":"t"}"#)
                #expect(try wire.reply().status == 202)
            }
            #expect(try await answer(api, head("ff_1_x")).status == 401)
        }
    }

    @Test(arguments: ["X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "Via", "X-Real-IP"])
    func behindAProxyNoTokenInAnAddressCounts(header: String) async throws {
        try await APIWorld.with { api in
            let token = try await api.token(.reader)
            #expect(try await api.ask("GET", "/login?token=\(token)").status == 303)
            #expect(try await api.ask("GET", "/login?token=\(token)", nil, [header: "x"]).status == 200)
        }
    }

    @Test func aLoginSaysWhichSiteSentIt() async throws {
        try await APIWorld.with { api in
            let client = ConsoleClient(api: api)
            let token = try await api.token(.reader)
            #expect(try await client.send("/login", ["token": token], [:]).status == 403)
            #expect(try await client.send("/login", ["token": token]).status == 303)
        }
    }
}
