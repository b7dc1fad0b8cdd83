import Glibc
import PushTransport
import TestKit
import Testing
import Threading

@testable import HTTP2Engine

/// The timeouts of an engine's connections, with a clock that the test sets.
@Suite(.timeLimit(.minutes(2)))
struct EngineTimeTests {
    /// A clock that advances only when it is set.
    private final class ManualClock: Sendable {
        private let time = Locked<MonotonicTime>(1_000_000_000)

        var now: MonotonicTime { time.withLock { $0 } }

        func advance(seconds: Int64) { time.withLock { $0 += seconds * 1_000_000_000 } }
    }

    /// The peer answers the first request and is silent from then on.
    @Test func aPeerThatDoesNotAnswerAPingIsGone() async throws {
        let server = try await TLSServer.start(
            host: "localhost",
            saying: Transport.engine.accepted,
            by: Transport.engine.scriptedProtocol
        )
        let (endpoint, options) = (try server.endpoint, server.options)
        let requests = try someRequests(2, deadline: .seconds(3600))
        let (answers, states) = try await onThread("sender") {
            let clock = ManualClock()
            let engine = try HTTP2Engine(endpoint: endpoint, options: options) { clock.now }
            var answers: [PushAnswer] = []
            _ = engine.submit(requests[..<1])
            while answers.isEmpty { engine.poll(timeout: .milliseconds(20), into: &answers) }
            _ = engine.submit(requests[1...])
            engine.poll(timeout: .zero, into: &answers)
            var states = [engine.state]
            for seconds: Int64 in [9, 2, 4, 2] {
                clock.advance(seconds: seconds)
                engine.poll(timeout: .zero, into: &answers)
                engine.poll(timeout: .zero, into: &answers)
                states.append(engine.state)
            }
            engine.close(into: &answers)
            return (answers, states)
        }
        await server.stop()
        #expect(answers.map(\.fate) == [.answered, .ambiguous])
        #expect(answers.last?.cause == .lost)
        #expect(answers.last?.detail == "the server did not answer a PING")
        #expect(states.map(\.lost) == [0, 0, 0, 0, 1])
        #expect(states.last?.open == 0)
    }

    /// The peer acknowledges PINGs, so it counts as alive; but it answers no requests.
    @Test func aPeerThatAnswersPingsAndNothingElseIsLeft() async throws {
        let fault = "[{\"match\":{\"token\":\"\(tokens(1..<2))\"},\"do\":\"slow\",\"ms\":600000}]"
        try await APNsPeer.with(fault) { peer in
            let endpoint = try peer.endpoint
            var options = peer.options
            options.connections = 1
            let requests = try peer.requests(0..<3, deadline: .seconds(20))
            let (answers, state) = try await onThread("sender") { [options] in
                let clock = ManualClock()
                let engine = try HTTP2Engine(endpoint: endpoint, options: options) { clock.now }
                var answers: [PushAnswer] = []
                _ = engine.submit(requests[..<1])
                while answers.isEmpty { engine.poll(timeout: .milliseconds(20), into: &answers) }
                clock.advance(seconds: 1)
                _ = engine.submit(requests[1..<2])
                engine.poll(timeout: .zero, into: &answers)
                clock.advance(seconds: 11)
                // Until the PING that is due was acknowledged. A blocking poll would wait for the manual clock.
                while try #require(engine.connections.first).machine.heardAt < clock.now {
                    engine.poll(timeout: .zero, into: &answers)
                }
                clock.advance(seconds: 9)
                while answers.count < 2 { engine.poll(timeout: .milliseconds(20), into: &answers) }
                let state = engine.state
                _ = engine.submit(requests[2...])
                while answers.count < 3 { engine.poll(timeout: .milliseconds(20), into: &answers) }
                return (answers, state)
            }
            #expect(answers.map(\.fate) == [.answered, .ambiguous, .answered])
            #expect(answers.dropFirst().first?.cause == .deadline)
            #expect(state.open == 0 && state.lost == 1, "\(state)")
            let connections = try await peer.sandbox.received().map(\.connection)
            #expect(connections.count == 3 && Set(connections).count == 2, "the next goes over another")
        }
    }

    /// The kernel accepts the connection, and no process reads from it.
    @Test func aHandshakeThatHangsIsGivenUp() async throws {
        let listener = try Listener()
        let endpoint = try Endpoint("https://127.0.0.1:\(listener.port)")
        let requests = try someRequests(1)
        let (answers, state) = try await onThread("sender") {
            let clock = ManualClock()
            let engine = try HTTP2Engine(endpoint: endpoint, options: TransportOptions()) { clock.now }
            var answers: [PushAnswer] = []
            _ = engine.submit(requests[...])
            engine.poll(timeout: .zero, into: &answers)
            clock.advance(seconds: 9)
            engine.poll(timeout: .zero, into: &answers)
            #expect(answers.isEmpty && engine.state.opening == 1)
            clock.advance(seconds: 2)
            engine.poll(timeout: .zero, into: &answers)
            return (answers, engine.state)
        }
        #expect(answers.map(\.fate) == [.notSent] && answers.map(\.cause) == [.connect])
        #expect(answers.first?.detail == "connecting took too long")
        #expect(state.failedConnectsInARow == 1 && state.opening == 0)
    }

    /// The one allowed connection was given up, and the next may not be opened yet.
    @Test func whatWaitsWithoutAConnectionIsTakenBack() async throws {
        let listener = try Listener()
        let endpoint = try Endpoint("https://127.0.0.1:\(listener.port)")
        var options = TransportOptions()
        options.connectBurst = 1
        let requests = try someRequests(1)
        let (answers, waiting) = try await onThread("sender") { [options] in
            let clock = ManualClock()
            let engine = try HTTP2Engine(endpoint: endpoint, options: options) { clock.now }
            var answers: [PushAnswer] = []
            #expect(engine.submit(requests[...]) == 1)
            engine.retire(try #require(engine.connections.first).name)
            engine.poll(timeout: .zero, into: &answers)
            let waiting = engine.queue.count
            engine.sendUntil = .now
            engine.poll(timeout: .zero, into: &answers)
            #expect(engine.inFlight == 0)
            return (answers, waiting)
        }
        #expect(waiting == 1)
        #expect(answers.map(\.fate) == [.notSent] && answers.map(\.cause) == [.sendUntil])
    }

    /// `localhost` often resolves to `::1` first, where this server does not listen.
    @Test func everyAddressIsTried() async throws {
        let listener = try Listener()
        let endpoint = try Endpoint("https://localhost:\(listener.port)")
        try await onThread("dialer") {
            let waker = WakeSignal()
            let dialer = Dialer(endpoint, TransportOptions(), waking: waker, now: 0)
            var progress = dialer.advance(now: 0)
            while progress == .waiting {
                var wakes = pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0)
                var connects = pollfd(fd: dialer.descriptor, events: Int16(POLLOUT), revents: 0)
                _ = dialer.descriptor < 0 ? poll(&wakes, 1, 5000) : poll(&connects, 1, 5000)
                waker.consume()
                progress = dialer.advance(now: 0)
            }
            guard case .connected(let descriptor) = progress else {
                Issue.record("\(progress)")
                return
            }
            close(descriptor)
        }
    }

    @Test func namesThatDoNotExistAreNotSent() async throws {
        let requests = try someRequests(1)
        let delivery = try await deliver(
            requests,
            to: Endpoint("https://no-such-host.invalid"),
            TransportOptions(),
            by: .engine
        )
        #expect(delivery.answers.map(\.cause) == [.connect])
        #expect(delivery.answers.first?.detail.contains("no-such-host.invalid could not be resolved") == true)
    }
}

/// A socket on 127.0.0.1 that listens and never accepts.
private final class Listener: Sendable {
    let port: UInt16
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let handle = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                bind(handle, name, size) == 0 && listen(handle, 8) == 0 && getsockname(handle, name, &size) == 0
            }
        }
        try #require(isBound)
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }
}
