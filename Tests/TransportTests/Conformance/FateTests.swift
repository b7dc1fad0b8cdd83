import PushTransport
import TestKit
import Testing
import Threading

@Suite(.serialized, .timeLimit(.minutes(2)))
struct FateTests {
    @Test(arguments: Transport.allCases)
    func silenceIsAmbiguousAfterTheDeadline(_ transport: Transport) async throws {
        try await APNsPeer.with("[{\"match\":{\"token\":\"\(tokens(5..<6))\"},\"do\":\"silence\"}]") { peer in
            var options = peer.options
            options.connections = 1
            options.streams = 10
            let clock = ContinuousClock()
            let begin = clock.now
            let delivery = try await deliver(
                peer.requests(0..<40, deadline: .seconds(2)),
                to: peer.endpoint,
                options,
                by: transport
            )
            #expect(clock.now - begin > .seconds(2))
            #expect(delivery.byTag.count == 40 && delivery.answers.count == 40)
            let struck = try #require(delivery.byTag[5]?.first)
            #expect(struck.fate == .ambiguous && struck.cause == .deadline)
            // The connection is retired, and the rest uses another; a slow machine may cause another timeout.
            #expect(delivery.count(.answered) > 20)
            #expect(delivery.state.established >= 2)
            #expect(try await peer.arrivals().values.allSatisfy { $0 == 1 })
        }
    }

    @Test(arguments: Transport.allCases)
    func aSlowAnswerLeavesTheOthersAlone(_ transport: Transport) async throws {
        let fault = "[{\"match\":{\"token\":\"\(tokens(5..<6))\"},\"do\":\"slow\",\"ms\":20000}]"
        try await APNsPeer.with(fault) { peer in
            var options = peer.options
            options.connections = 1
            let requests = try peer.requests(0..<20) + peer.requests(20..<21, deadline: .seconds(4))
            var impatient = requests
            impatient[5] = try peer.requests(5..<6, deadline: .seconds(4))[0]
            let delivery = try await deliver(impatient, to: peer.endpoint, options, by: transport)
            #expect(delivery.byTag[5]?.first?.cause == .deadline)
            #expect(delivery.count(.answered) == 20)
        }
    }

    /// The server announces more than it sends.
    @Test(arguments: [200, 500] as [UInt16], Transport.allCases)
    func aStatusCountsThoughItsBodyDoesNotEnd(_ status: UInt16, _ transport: Transport) async throws {
        let server = try await TLSServer.start(
            host: "localhost",
            saying: transport.unfinished(status),
            by: transport.scriptedProtocol
        )
        let delivery = try await deliver(
            someRequests(1, deadline: .seconds(5)),
            to: server.endpoint,
            server.options,
            by: transport
        )
        await server.stop()
        #expect(delivery.answers.map(\.fate) == [.answered] && delivery.answers.map(\.status) == [status])
        let body = status == 200 ? [] : Array("half".utf8)
        #expect(delivery.answers.first?.body == body)
    }

    @Test(arguments: Transport.allCases)
    func unknownAuthorityIsNotSent(_ transport: Transport) async throws {
        try await APNsPeer.with { peer in
            let delivery = try await deliver(peer.requests(0..<2), to: peer.endpoint, TransportOptions(), by: transport)
            for answer in delivery.answers {
                #expect(answer.fate == .notSent && answer.cause == .tls)
                #expect(answer.detail.contains("certificate"))
            }
            #expect(delivery.answers.count == 2)
            #expect(delivery.state.failedConnectsInARow == 2)
            #expect(delivery.state.lastConnectFailure.contains("certificate"))
            #expect(try await peer.arrivals().isEmpty)
        }
    }

    @Test(arguments: Transport.allCases)
    func wrongHostNameIsNotSent(_ transport: Transport) async throws {
        let server = try await TLSServer.start(host: "push.example.com")
        let delivery = try await deliver(
            someRequests(1),
            to: Endpoint("https://localhost:\(server.port)"),
            server.options,
            by: transport
        )
        await server.stop()
        #expect(delivery.answers.map(\.fate) == [.notSent])
        #expect(delivery.answers.map(\.cause) == [.tls])
        #expect(delivery.answers.first?.detail.contains("localhost") == true)
    }

    @Test(arguments: Transport.allCases)
    func onlyGivenAuthoritiesAreAdded(_ transport: Transport) async throws {
        let server = try await TLSServer.start(host: "localhost")
        let other = try await TLSServer.start(host: "localhost")
        let requests = try someRequests(1, deadline: .seconds(4))
        let trusting = try await deliver(requests, to: server.endpoint, server.options, by: transport)
        let mistrusting = try await deliver(requests, to: server.endpoint, other.options, by: transport)
        await server.stop()
        await other.stop()
        // The server does not understand the request; only the result of the handshake matters.
        #expect(trusting.answers.map(\.fate) == [.ambiguous])
        #expect(mistrusting.answers.map(\.cause) == [.tls])
    }

    /// With many origins, all requests that wait for the origin are answered at once; see MultiOriginTests.
    @Test func nobodyListensIsNotSentAndPaced() async throws {
        var options = TransportOptions()
        options.connectBurst = 3
        options.connectInterval = .seconds(3600)
        options.connections = 2
        let endpoint = try Endpoint("https://localhost:1")
        let requests = try someRequests(10)
        let finalOptions = options
        let (answers, free, state) = try await onThread("sender") {
            let client = try Transport.engine.open(endpoint, finalOptions)
            var answers: [PushAnswer] = []
            var rest = requests[...]
            while answers.count < 3 {
                rest = rest.dropFirst(client.submit(rest))
                client.poll(timeout: .milliseconds(100), into: &answers)
            }
            defer { client.close(into: &answers) }
            return (answers, client.freeSlots, client.state)
        }
        #expect(answers.allSatisfy { $0.fate == .notSent && $0.cause == .connect && !$0.detail.isEmpty })
        #expect(answers.count == 3)
        #expect(free == 0, "after the burst no further connect is allowed")
        #expect(state.failedConnectsInARow == 3)
    }

    @Test(arguments: Transport.allCases)
    func nothingIsSentAfterTheLease(_ transport: Transport) async throws {
        try await APNsPeer.with { peer in
            let endpoint = try peer.endpoint
            let options = peer.options
            let requests = try peer.requests(0..<2)
            let answers = try await submitAcrossTheLease(requests) { try transport.open(endpoint, options) }
            #expect(answers.map(\.fate) == [.notSent, .answered])
            #expect(answers.map(\.cause) == [.sendUntil, .none])
            #expect(try await peer.arrivals() == [APNsPeer.apnsID(1): 1])
        }
    }

    /// The limit may apply to one poll only, and a connection takes longer to open.
    @Test(arguments: Transport.allCases)
    func whatWaitsForAConnectionIsTakenBack(_ transport: Transport) async throws {
        try await APNsPeer.with { peer in
            let endpoint = try peer.endpoint
            let options = peer.options
            let requests = try peer.requests(0..<3)
            let answers = try await submitWhileConnecting(requests, to: peer.sandbox.process) {
                try transport.open(endpoint, options)
            }
            #expect(answers.map(\.fate) == [.notSent, .notSent, .answered])
            #expect(answers.map(\.cause) == [.sendUntil, .sendUntil, .none])
            #expect(try await peer.arrivals() == [APNsPeer.apnsID(2): 1])
        }
    }

    @Test(arguments: Transport.allCases)
    func closingAnswersWhatIsInFlight(_ transport: Transport) async throws {
        try await APNsPeer.with(#"[{"do":"slow","ms":60000}]"#) { peer in
            let delivery = try await deliver(
                peer.requests(0..<3),
                to: peer.endpoint,
                peer.options,
                by: transport,
                within: .milliseconds(500)
            )
            #expect(delivery.answers.allSatisfy { $0.cause == .closed && $0.fate == .ambiguous })
            #expect(delivery.answers.count == 2, "one on each cold connection; the third was not taken")
        }
    }

    @Test(arguments: Transport.allCases)
    func aWakeEndsThePoll(_ transport: Transport) async throws {
        let endpoint = try Endpoint("https://localhost:1")
        let wakers = Mailbox<any TransportWaker>()
        let sender = WorkerThread.start(name: "sender") {
            guard let client = try? transport.open(endpoint) else { return }
            wakers.put(client.waker)
            var answers: [PushAnswer] = []
            client.poll(timeout: .seconds(3600), into: &answers)
        }
        let waker = try #require(wakers.take()?.first)
        waker.wake()
        await sender.value()
        // The transport was released; its waker has no effect.
        waker.wake()
    }

    @Test(arguments: Transport.allCases)
    func aUselessAuthorityFileIsRefused(_ transport: Transport) throws {
        var options = TransportOptions()
        options.caFile = "/nonexistent/ca.pem"
        let endpoint = try Endpoint("https://localhost:1")
        #expect(throws: TransportError.self) { try transport.open(endpoint, options) }
        options.caFile = "/dev/null"
        let error = #expect(throws: TransportError.self) { try transport.open(endpoint, options) }
        #expect(error?.description.contains("holds no PEM certificate") == true)
    }
}

/// Returns requests for a peer that ignores their content.
func someRequests(
    _ count: Int,
    deadline: Duration = .seconds(15),
    origin: Endpoint? = nil
) throws -> [PushRequest] {
    let head = try HeaderBlock([HeaderField("content-type", "application/json")])
    return try (0..<count).map { number in
        try PushRequest(
            tag: UInt64(number),
            path: Array("/x".utf8),
            head: head,
            body: PushBody([1, 2, 3]),
            deadline: deadline,
            origin: origin
        )
    }
}
