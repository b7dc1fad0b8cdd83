import HTTP2Engine
import PushTransport
import TestKit
import Testing

/// Resumed TLS sessions (RFC 8446 section 2.2), which save half of the handshake when a connection is replaced.
@Suite(.timeLimit(.minutes(2)))
struct SessionTicketTests {
    /// GOAWAY with stream 1 as the last one, NO_ERROR.
    private static let goaway: [UInt8] = [0, 0, 8, 7, 0, 0, 0, 0, 0] + [0, 0, 0, 1, 0, 0, 0, 0]

    @Test(arguments: ["-tls1_3", "-tls1_2"])
    func theNextConnectionTakesTheSessionUpAgain(version: String) async throws {
        let server = try await TLSServer.start(
            host: "localhost",
            saying: Transport.engine.accepted + Self.goaway,
            by: Transport.engine.scriptedProtocol,
            ["-naccept", "2", version]
        )
        let (endpoint, options) = (try server.endpoint, server.options)
        let requests = try someRequests(2)
        let fates = try await onThread("sender") {
            let engine = try HTTP2Engine(endpoint: endpoint, options: options)
            var answers: [PushAnswer] = []
            _ = engine.submit(requests[..<1])
            while answers.isEmpty { engine.poll(timeout: .seconds(1), into: &answers) }
            _ = engine.submit(requests[1...])
            // The server sends nothing on the second connection; the test only needs it to be established.
            repeat { engine.poll(timeout: .milliseconds(20), into: &answers) } while engine.state.established < 2
            engine.close(into: &answers)
            return answers.map(\.fate)
        }
        #expect(fates.first == .answered)
        let lines = await server.finished()
        #expect(lines.count { $0 == "Reused session-id" } == 1, "\(lines)")
    }
}
