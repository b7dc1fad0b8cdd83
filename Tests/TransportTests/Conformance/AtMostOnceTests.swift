import PushTransport
import TestKit
import Testing

/// Each request is sent at most once and gets exactly one answer, with any failure of the connection.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct AtMostOnceTests {
    /// The faults, and the requests that they affect.
    ///
    /// Each fault can make libcurl resend a request by itself.
    static let faults: [(name: String, fault: String)] = [
        ("reset of the connection", #""do":"reset""#),
        ("reset of the stream", #""do":"reset","code":"INTERNAL_ERROR""#),
        ("cancel of the stream", #""do":"reset","code":"CANCEL""#),
        ("refused stream", #""do":"refuse""#),
        ("close after the body", #""do":"close""#),
        ("close after the headers", #""do":"close","at":"headers""#),
        ("GOAWAY below the stream", #""do":"goaway","last_stream":"below""#),
        ("GOAWAY at the stream", #""do":"goaway","last_stream":"at","answer":true"#),
        ("GOAWAY that announces the end", #""do":"goaway","last_stream":"above","answer":true,"close_after_ms":20"#),
    ]

    @Test(arguments: faults.indices, Transport.allCases)
    func oneRequestPerPush(_ index: Int, _ transport: Transport) async throws {
        let struck = 100..<103
        let fault = "[{\"match\":{\"token\":\"\(tokens(struck))\"},\(Self.faults[index].fault)}]"
        try await APNsPeer.with(fault) { peer in
            var options = peer.options
            options.connectInterval = .milliseconds(50)
            let delivery = try await deliver(peer.requests(0..<300), to: peer.endpoint, options, by: transport)
            #expect(delivery.answers.count == 300)
            #expect(delivery.byTag.count == 300, "each request has one answer")
            let arrivals = try await peer.arrivals()
            #expect(arrivals.values.allSatisfy { $0 == 1 }, "\(Self.faults[index].name): something was sent twice")
            for answer in delivery.answers {
                switch answer.fate {
                case .answered: #expect(answer.status == 200)
                case .notSent: #expect(arrivals[APNsPeer.apnsID(Int(answer.tag))] == nil)
                case .ambiguous: #expect(answer.cause == .lost && !answer.detail.isEmpty)
                case .notProcessed: #expect(transport.seesWhatWasNotProcessed && answer.cause == .lost)
                }
            }
            #expect(delivery.count(.answered) > 0)
        }
    }

    /// libcurl resends requests that fail on a warm, idle connection.
    @Test(arguments: faults.indices, Transport.allCases)
    func oneRequestOnAWarmIdleConnection(_ index: Int, _ transport: Transport) async throws {
        let fault = "[{\"match\":{\"token\":\"\(tokens(1..<2))\"},\(Self.faults[index].fault)}]"
        try await APNsPeer.with(fault) { peer in
            let endpoint = try peer.endpoint
            let options = peer.options
            let requests = try peer.requests(0..<3)
            let answers = try await onThread("sender") {
                let client = try transport.open(endpoint, options)
                var answers: [PushAnswer] = []
                for request in requests {
                    #expect(client.submit([request]) == 1)
                    let before = answers.count
                    while answers.count == before { client.poll(timeout: .seconds(5), into: &answers) }
                }
                client.close(into: &answers)
                return answers
            }
            #expect(answers.map(\.tag) == [0, 1, 2])
            #expect(answers[0].status == 200)
            #expect(answers[2].status == 200 || answers[2].fate == transport.fateOverGoaway, "\(answers)")
            let arrivals = try await peer.arrivals()
            #expect(arrivals.values.allSatisfy { $0 == 1 }, "\(Self.faults[index].name): something was sent twice")
        }
    }
}
