import HTTP2Client
import PushTransport
import TestKit
import Testing

/// Many origins behind one transport, and forbidden addresses.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct MultiOriginTests {
    private func options(_ peer: APNsPeer, _ networks: [String] = ["127.0.0.1", "::1"]) throws -> MultiOriginOptions {
        var options = try MultiOriginOptions(destinations: DestinationPolicy(hosts: ["*"], networks: networks))
        options.transport.caFile = peer.sandbox.ready.caFile
        return options
    }

    private func interleaved(_ lists: [PushRequest]...) -> [PushRequest] {
        (0..<(lists.map(\.count).max() ?? 0)).flatMap { index in lists.compactMap { $0.dropFirst(index).first } }
    }

    /// Returns two origins: the sandbox listens on two ports.
    private func origins(_ peer: APNsPeer) throws -> (first: Endpoint, second: Endpoint) {
        let ready = peer.sandbox.ready
        return try (
            Endpoint("https://localhost:\(ready.tlsPort)"), Endpoint("https://127.0.0.1:\(ready.sandboxTLSPort)")
        )
    }

    @Test func eachRequestGoesToItsOrigin() async throws {
        try await APNsPeer.with { peer in
            let (first, second) = try origins(peer)
            let requests = try interleaved(
                peer.requests(0..<200, origin: first),
                peer.requests(200..<400, origin: second)
            )
            let options = try options(peer)
            let delivery = try await deliver(requests) { try MultiOriginClient(options: options) }
            #expect(delivery.byTag.count == 400 && delivery.answers.count == 400)
            #expect(delivery.answers.allSatisfy { $0.status == 200 })
            #expect(delivery.state.established == 4 && delivery.state.open == 4)
            #expect(delivery.state.lost == 0 && delivery.state.failedConnectsInARow == 0)
            let received = try await peer.sandbox.received()
            #expect(received.count == 400)
            for push in received {
                let number = try #require(Int(push.path.suffix(8), radix: 16))
                #expect(push.environment == (number < 200 ? "production" : "sandbox"))
            }
        }
    }

    @Test(arguments: ["localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "127.1"])
    func addressesThatAreNotPublicAreNeverConnectedTo(_ host: String) async throws {
        try await APNsPeer.with { peer in
            let origin = try Endpoint("https://\(host):\(peer.sandbox.ready.tlsPort)")
            let requests = try peer.requests(0..<5, origin: origin)
            let options = try options(peer, ["10.0.0.0/8"])
            let delivery = try await deliver(requests) { try MultiOriginClient(options: options) }
            #expect(delivery.answers.count == 5)
            for answer in delivery.answers {
                #expect(answer.fate == .notSent && answer.cause == .forbidden, "\(answer)")
                #expect(answer.detail.contains("is forbidden: it is not public"), "\(answer.detail)")
            }
            #expect(delivery.state.failedConnectsInARow == 0 && delivery.state.lastConnectFailure.isEmpty)
            #expect(try await peer.sandbox.awaitCounts().connections == 0)
        }
    }

    @Test func namesThatAreNotAllowedAreNotResolved() async throws {
        try await APNsPeer.with { peer in
            let origin = try peer.endpoint
            var options = try options(peer)
            options.destinations = try DestinationPolicy(hosts: ["*.example"], networks: ["127.0.0.1", "::1"])
            let requests = try peer.requests(0..<3, origin: origin)
            let delivery = try await deliver(requests) { [options] in try MultiOriginClient(options: options) }
            #expect(delivery.answers.map(\.cause) == [.forbidden, .forbidden, .forbidden])
            #expect(delivery.answers.allSatisfy { $0.fate == .notSent && $0.detail.contains("localhost") })
            #expect(delivery.state == TransportState())
            #expect(try await peer.sandbox.awaitCounts().connections == 0)
        }
    }

    @Test func anOriginThatIsDownLeavesOthersAlone() async throws {
        try await APNsPeer.with { peer in
            let (alive, down) = try (peer.endpoint, Endpoint("https://127.0.0.1:1"))
            let requests = try interleaved(
                peer.requests(0..<100, origin: alive),
                peer.requests(100..<103, origin: down)
            )
            let options = try options(peer)
            let (delivery, states) = try await onThread("sender") {
                let client = try MultiOriginClient(options: options)
                var delivery = Delivery()
                var rest = requests[...]
                while delivery.answers.count < requests.count {
                    rest = rest.dropFirst(client.submit(rest))
                    client.poll(timeout: .seconds(5), into: &delivery.answers)
                }
                delivery.state = client.state
                let states = [
                    client.state(of: alive), client.state(of: down), try client.state(of: Endpoint("https://a")),
                ]
                client.close(into: &delivery.answers)
                return (delivery, states)
            }
            #expect(delivery.count(.answered) == 100)
            #expect(delivery.answers.count { $0.fate == .notSent && $0.cause == .connect } == 3)
            #expect(delivery.state.failedConnectsInARow == 0, "one origin works")
            #expect(states[0].failedConnectsInARow == 0 && (1...3).contains(states[1].failedConnectsInARow))
            #expect(states[0].established == 2 && states[1].established == 0 && states[2] == TransportState())
        }
    }

    @Test func whoWaitsForAnOriginThatIsDownIsAnsweredAtOnce() async throws {
        let origin = try Endpoint("https://127.0.0.1:1")
        let policy = try DestinationPolicy(hosts: ["127.0.0.1"], networks: ["127.0.0.1"])
        let requests = try someRequests(20, origin: origin)
        let begin = ContinuousClock.now
        let delivery = try await deliver(requests) {
            var options = MultiOriginOptions(destinations: policy)
            // More than may be opened at once.
            options.transport.connections = 20
            return try MultiOriginClient(options: options)
        }
        #expect(delivery.answers.count == 20)
        #expect(delivery.answers.allSatisfy { $0.fate == .notSent && $0.cause == .connect })
        #expect(ContinuousClock.now - begin < .seconds(5), "less than a request may wait for a connection")
        #expect(delivery.state.failedConnectsInARow <= 8, "connects are paced")
    }

    @Test func idleConnectionsMakeRoomWhereTheyAreLimited() async throws {
        try await APNsPeer.with { peer in
            let (first, second) = try origins(peer)
            var options = try options(peer)
            options.connections = 1
            options.transport.connectBurst = 100
            let requests = try (0..<6).flatMap { try peer.requests($0..<$0 + 1, origin: $0 % 2 == 0 ? first : second) }
            let (answers, open) = try await onThread("sender") { [options] in
                let client = try MultiOriginClient(options: options)
                var answers: [PushAnswer] = []
                var open: [Int] = []
                for request in requests {
                    #expect(client.submit([request]) == 1)
                    let before = answers.count
                    while answers.count == before { client.poll(timeout: .seconds(5), into: &answers) }
                    open.append(client.state.open + client.state.opening)
                }
                client.close(into: &answers)
                return (answers, open)
            }
            #expect(answers.map(\.status) == Array(repeating: 200, count: 6), "\(answers)")
            #expect(open == Array(repeating: 1, count: 6))
        }
    }

    @Test func idleConnectionsAreClosedAndIdleOriginsForgotten() async throws {
        try await APNsPeer.with { peer in
            let origin = try peer.endpoint
            var options = try options(peer)
            options.idleTimeout = .milliseconds(20)
            let requests = try peer.requests(0..<2, origin: origin)
            let (answers, established) = try await onThread("sender") { [options] in
                let client = try MultiOriginClient(options: options)
                var answers: [PushAnswer] = []
                for request in requests {
                    #expect(client.submit([request]) == 1)
                    let before = answers.count
                    while answers.count == before { client.poll(timeout: .seconds(5), into: &answers) }
                    while client.state.open > 0 || client.state(of: origin).established > 0 {
                        client.poll(timeout: .milliseconds(10), into: &answers)
                    }
                }
                return (answers, client.state.established)
            }
            #expect(answers.map(\.status) == [200, 200])
            #expect(established == 2, "what forgotten origins counted is kept")
        }
    }

    @Test func slotsAreCountedByOriginAndInAll() async throws {
        let (first, second) = try (Endpoint("https://127.0.0.1:1"), Endpoint("https://127.0.0.1:2"))
        var options = try MultiOriginOptions(destinations: DestinationPolicy(hosts: ["*"], networks: ["127.0.0.1"]))
        options.transport.connections = 2
        options.transport.streams = 3
        options.requests = 8
        let client = try MultiOriginClient(options: options)
        #expect(client.freeSlots == 8 && client.freeSlots(for: first) == 2)
        #expect(try client.submit(someRequests(7, origin: first)[...]) == 2, "nobody is known to be there")
        #expect(client.freeSlots(for: first) == 0 && client.freeSlots(for: second) == 2 && client.freeSlots == 6)
        for number in 3...5 {
            #expect(try client.submit(someRequests(2, origin: Endpoint("https://127.0.0.1:\(number)"))[...]) == 2)
        }
        #expect(client.freeSlots == 0 && client.freeSlots(for: second) == 0 && client.inFlight == 8)
        var answers: [PushAnswer] = []
        client.close(into: &answers)
        #expect(answers.count == 8 && answers.allSatisfy { $0.fate == .notSent && $0.cause == .closed })
        #expect(client.freeSlots == 0 && client.inFlight == 0)
    }

    @Test func anOriginThatAnswersTakesAsManyAsItsConnectionsHaveStreams() async throws {
        try await APNsPeer.with { peer in
            let origin = try peer.endpoint
            var options = try options(peer)
            options.transport.streams = 3
            let requests = try peer.requests(0..<10, origin: origin)
            let (answers, taken) = try await onThread("sender") { [options] in
                let client = try MultiOriginClient(options: options)
                var answers: [PushAnswer] = []
                #expect(client.submit(requests[..<1]) == 1)
                while answers.isEmpty { client.poll(timeout: .seconds(5), into: &answers) }
                let taken = client.submit(requests[1...])
                while answers.count < 1 + taken { client.poll(timeout: .seconds(5), into: &answers) }
                client.close(into: &answers)
                return (answers, taken)
            }
            #expect(taken == 6, "and leaves room for others")
            #expect(answers.count == 7 && answers.allSatisfy { $0.status == 200 })
        }
    }

    @Test func nothingIsSentAfterTheLease() async throws {
        try await APNsPeer.with { peer in
            let origin = try peer.endpoint
            let options = try options(peer)
            let requests = try peer.requests(0..<2, origin: origin)
            let answers = try await submitAcrossTheLease(requests) { try MultiOriginClient(options: options) }
            #expect(answers.map(\.cause) == [.sendUntil, .none])
            #expect(try await peer.arrivals() == [APNsPeer.apnsID(1): 1])
        }
    }

    /// One request has a connection that is being opened, the others wait for one that may not be opened yet.
    @Test func whatWaitsForAConnectionIsTakenBack() async throws {
        try await APNsPeer.with { peer in
            let origin = try peer.endpoint
            var options = try options(peer)
            options.transport.connections = 6
            options.transport.connectBurst = 2
            let requests = try peer.requests(0..<6, origin: origin)
            let answers = try await submitWhileConnecting(requests, to: peer.sandbox.process) { [options] in
                try MultiOriginClient(options: options)
            }
            #expect(answers.map(\.cause) == Array(repeating: FateCause.sendUntil, count: 5) + [FateCause.none])
            #expect(try await peer.arrivals() == [APNsPeer.apnsID(5): 1])
        }
    }
}

/// Misbehavior of a registered origin's server.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct StrangerTests {
    private func deliverOne(saying said: String) async throws -> (answer: PushAnswer, state: TransportState) {
        let server = try await TLSServer.start(host: "localhost", saying: Array(said.utf8))
        var options = try MultiOriginOptions(
            destinations: DestinationPolicy(hosts: ["localhost"], networks: ["127.0.0.1", "::1"])
        )
        options.transport.caFile = server.caFile
        options.transport.answerHeaders = ["location", "x-wns-notificationstatus"]
        options.transport.answerLimit = 100
        let requests = try someRequests(1, deadline: .seconds(10), origin: server.endpoint)
        let delivery = try await deliver(requests) { [options] in try MultiOriginClient(options: options) }
        await server.stop()
        return (try #require(delivery.answers.first), delivery.state)
    }

    @Test func olderHTTPIsTaken() async throws {
        let (answer, state) = try await deliverOne(
            saying: "HTTP/1.1 201 Created\r\nLocation: https://localhost/m/1\r\nContent-Length: 0\r\n\r\n"
        )
        #expect(answer.status == 201 && answer.header("location") == "https://localhost/m/1")
        #expect(state.open == 1 && state.failedConnectsInARow == 0)
    }

    @Test func fieldsOfSuccessAreKept() async throws {
        let said = "HTTP/1.1 200 OK\r\nX-WNS-NotificationStatus: dropped\r\nContent-Length: 0\r\n\r\n"
        let (answer, _) = try await deliverOne(saying: said)
        #expect(answer.status == 200 && answer.header("x-wns-notificationstatus") == "dropped")
    }

    @Test func redirectsAreNotFollowed() async throws {
        let said = "HTTP/1.1 307 Elsewhere\r\nLocation: https://10.0.0.1/\r\nContent-Length: 0\r\n\r\n"
        let (answer, state) = try await deliverOne(saying: said)
        #expect(answer.status == 307 && state.established == 1 && state.failedConnectsInARow == 0)
    }

    /// Without the limit it would be read until the deadline, since the server announces more than it sends.
    @Test(arguments: [200, 500])
    func aFloodIsCutOff(_ status: Int) async throws {
        let begin = ContinuousClock.now
        let flood = String(repeating: "x", count: 500_000)
        let (answer, _) = try await deliverOne(
            saying: "HTTP/1.1 \(status) Flood\r\nContent-Length: 1000000000\r\n\r\n" + flood
        )
        #expect(answer.status == status && answer.body.count == (status == 200 ? 0 : 100))
        #expect(ContinuousClock.now - begin < .seconds(10))
    }

    @Test func aFloodOfFieldsIsCutOff() async throws {
        let begin = ContinuousClock.now
        let field = "X-Flood: " + String(repeating: "x", count: 2_000) + "\r\n"
        let said = "HTTP/1.1 500 Flood\r\n" + String(repeating: field, count: 200)
        let (answer, _) = try await deliverOne(saying: said)
        #expect(answer.status == 500)
        #expect(ContinuousClock.now - begin < .seconds(10))
    }
}
