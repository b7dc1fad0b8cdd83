import PushTransport
import TestKit
import Testing

@testable import HTTP2Client

/// Answers whose status has arrived and whose rest has not, as libcurl reports them.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct UnfinishedAnswerTests {
    private func options(_ server: TLSServer) throws -> MultiOriginOptions {
        var options = try MultiOriginOptions(
            destinations: DestinationPolicy(hosts: ["localhost"], networks: ["127.0.0.1", "::1"])
        )
        options.transport.caFile = server.caFile
        return options
    }

    @Test func aStatusCountsWhenTheTransportIsClosed() async throws {
        let server = try await TLSServer.start(host: "localhost", saying: Transport.curl.unfinished(500))
        let options = try options(server)
        let requests = try someRequests(1, origin: server.endpoint)
        let (answers, left) = try await onThread("sender") {
            let client = try MultiOriginClient(options: options)
            var answers: [PushAnswer] = []
            _ = client.submit(requests[...])
            while client.order.flatMap(\.transfers).allSatisfy({ $0.answerBody.isEmpty }) && answers.isEmpty {
                client.poll(timeout: .milliseconds(20), into: &answers)
            }
            client.close(into: &answers)
            return (answers, client.inFlight)
        }
        await server.stop()
        #expect(answers.map(\.status) == [500] && answers.first?.body == Array("half".utf8))
        #expect(left == 0)
    }

    /// The handle that was removed during an answer is not reused, nor is its connection.
    @Test func theNextRequestIsNotMixedUpWithIt() async throws {
        let said = Transport.curl.unfinished(200)
        let server = try await TLSServer.start(host: "localhost", saying: said)
        let options = try options(server)
        let requests = try someRequests(2, deadline: .seconds(5), origin: server.endpoint)
        let (answers, states) = try await onThread("sender") {
            let client = try MultiOriginClient(options: options)
            var answers: [PushAnswer] = []
            var states: [TransportState] = []
            for request in requests {
                _ = client.submit([request])
                let before = answers.count
                while answers.count == before { client.poll(timeout: .seconds(5), into: &answers) }
                states.append(client.state)
            }
            client.close(into: &answers)
            return (answers, states)
        }
        await server.stop()
        // The server sends nothing on its second connection.
        #expect(answers.map(\.fate) == [.answered, .ambiguous], "\(answers)")
        #expect(states.map(\.established) == [1, 2] && states.map(\.open) == [0, 0], "\(states)")
    }
}
