import Foundation
import HTTP2Client
import PushTransport
import TestKit
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)))
struct SingleRequestTests {
    static let accepted = """
        HTTP/1.1 200 OK\r
        Content-Type: application/json\r
        Content-Length: 22\r
        \r
        {"access_token":"abc"}
        """

    private func send(
        to server: TLSServer,
        host: String = "localhost",
        _ adjust: @escaping @Sendable (inout SingleRequest) -> Void = { _ in }
    ) async throws -> SingleAnswer {
        let url = try HTTPSURL("https://\(host):\(server.port)/token?x=1")
        let caFile = server.caFile
        return try await onThread("request") {
            let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
            var request = try SingleRequest(posting: [("grant_type", grant), ("assertion", "a.b_c-d~ +&=ä")], to: url)
            request.caFile = caFile
            adjust(&request)
            return try request.send(keeping: ["retry-after"])
        }
    }

    @Test func theFormArrivesEncodedAndTheAnswerComesBack() async throws {
        let server = try await TLSServer.start(host: "localhost", saying: Array(Self.accepted.utf8), ["-naccept", "1"])
        let answer = try await send(to: server)
        let received = await server.finished()
        #expect(answer.status == 200 && answer.cause == .none && answer.detail.isEmpty)
        #expect(String(decoding: answer.body, as: UTF8.self) == #"{"access_token":"abc"}"#)
        #expect(received.contains("POST /token?x=1 HTTP/1.1"))
        #expect(received.contains("content-type: application/x-www-form-urlencoded"))
        let body = """
            grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b_c-d%7E%20%2B%26%3D%C3%A4
            """
        #expect(received.contains { $0.hasPrefix(body) })
    }

    /// Bytes that are not text, and no content type unless the caller sets one.
    @Test func methodFieldsAndBodyAreTheCallers() async throws {
        let said = Array("HTTP/1.1 204 Gone\r\n\r\n".utf8)
        let server = try await TLSServer.start(host: "localhost", saying: said, ["-naccept", "1"])
        let url = try HTTPSURL("https://localhost:\(server.port)/channels")
        let caFile = server.caFile
        let answer = try await onThread("request") {
            let fields = [try HeaderField("apns-channel-id", "abc")]
            let body = Array("one\u{0}two-".utf8) + [0xFF, 0xFE] + Array("-three\n".utf8)
            var request = try SingleRequest("DELETE", url, fields: fields, body: body)
            request.caFile = caFile
            return try request.send()
        }
        let received = await server.finished()
        #expect(answer.status == 204 && answer.body.isEmpty)
        #expect(received.contains("DELETE /channels HTTP/1.1"))
        #expect(received.contains("apns-channel-id: abc") && received.contains("Content-Length: 17"))
        let names = received.map { $0.lowercased() }
        #expect(!names.contains { $0.hasPrefix("content-type:") || $0.hasPrefix("accept:") })
        #expect(received.contains { $0.hasPrefix("one\u{0}two-") && $0.contains("-three") })
    }

    @Test func refusalsBringStatusAndRetryAfter() async throws {
        let said = "HTTP/1.1 503 Busy\r\nRetry-After: 17\r\nContent-Length: 4\r\n\r\nwait"
        let server = try await TLSServer.start(host: "localhost", saying: Array(said.utf8))
        let answer = try await send(to: server)
        await server.stop()
        #expect(answer.status == 503 && answer.headers["retry-after"] == "17" && answer.body == Array("wait".utf8))
    }

    @Test func redirectsAreNotFollowed() async throws {
        let said = "HTTP/1.1 302 Found\r\nLocation: https://localhost:1/\r\nContent-Length: 0\r\n\r\n"
        let server = try await TLSServer.start(host: "localhost", saying: Array(said.utf8))
        let answer = try await send(to: server)
        await server.stop()
        #expect(answer.status == 302 && answer.cause == .none)
    }

    @Test(arguments: ["Content-Length: 5000", "Connection: close"])
    func tooLongAnswersAreGivenUp(_ field: String) async throws {
        let said = "HTTP/1.1 200 OK\r\n\(field)\r\n\r\n" + String(repeating: "x", count: 5000)
        let server = try await TLSServer.start(host: "localhost", saying: Array(said.utf8))
        let answer = try await send(to: server) { $0.answerLimit = 1000 }
        await server.stop()
        #expect(answer.status == 0 && answer.body.isEmpty)
        #expect(answer.cause == .lost && answer.detail == "the answer has more than 1000 bytes")
    }

    @Test func silenceEndsWithTheDeadline() async throws {
        let server = try await TLSServer.start(host: "localhost")
        let answer = try await send(to: server) { $0.deadline = .milliseconds(300) }
        await server.stop()
        #expect(answer.status == 0 && answer.cause == .deadline && !answer.detail.isEmpty)
    }

    @Test func strangersAreNotTold() async throws {
        let server = try await TLSServer.start(host: "localhost", saying: Array(Self.accepted.utf8))
        let unknown = try await send(to: server) { $0.caFile = nil }
        let misnamed = try await send(to: server, host: "127.0.0.1")
        await server.stop()
        for answer in [unknown, misnamed] {
            #expect(answer.status == 0 && answer.cause == .tls && !answer.detail.isEmpty)
            #expect(!answer.detail.contains("assertion"))
        }
    }

    @Test func nobodyListens() async throws {
        let answer = try await onThread("request") {
            try SingleRequest(posting: [], to: HTTPSURL("https://localhost:1/token")).send()
        }
        #expect(answer.status == 0 && answer.cause == .connect)
        #expect(throws: TransportError.self) {
            var request = try SingleRequest("GET", HTTPSURL("https://localhost:1/"))
            request.caFile = "/nonexistent/ca.pem"
            _ = try request.send()
        }
    }
}
