import Foundation
import HTTP2Client
import PushTransport
import TestKit
import Testing

/// Pushes and single requests through the configured proxy, and never through another.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ProxyTests {
    private static let accepted = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

    private func get(
        _ url: HTTPSURL,
        caFile: String? = nil,
        through proxy: HTTPProxy?
    ) async throws -> SingleAnswer {
        try await onThread("request") {
            var request = try SingleRequest("GET", url, fields: [HeaderField("authorization", "marked")])
            (request.caFile, request.proxy) = (caFile, proxy)
            return try request.send(keeping: ["retry-after"])
        }
    }

    @Test func pushesGoThroughTheTunnelAndTheProxyLearnsTheAuthorityOnly() async throws {
        try await APNsPeer.with { peer in
            try await withProxy { proxy in
                var options = peer.options
                options.proxy = try HTTPProxy(proxy.address)
                let delivery = try await deliver(peer.requests(0..<100), to: peer.endpoint, options, by: .engine)
                #expect(delivery.count(.answered) == 100 && delivery.answers.allSatisfy { $0.status == 200 })
                #expect(try await peer.arrivals().values.allSatisfy { $0 == 1 })
                #expect(delivery.state.established == proxy.heads.count)
                let authority = try peer.endpoint.authority
                let expected = "CONNECT \(authority) HTTP/1.1\nHost: \(authority)\n\n"
                #expect(Set(proxy.heads) == [expected])
            }
        }
    }

    @Test(arguments: [401, 407, 502, 503])
    func aProxyThatRefusesIsNamedAndNothingIsSent(_ status: Int) async throws {
        try await withProxy(answering: status) { proxy in
            var options = TransportOptions()
            options.proxy = try HTTPProxy(proxy.address)
            let endpoint = try Endpoint("https://localhost:1")
            let delivery = try await deliver(someRequests(2), to: endpoint, options, by: .engine)
            let single = try await get(HTTPSURL("https://localhost:1/"), through: HTTPProxy(proxy.address))
            let advice = [401, 407].contains(status) ? ": it requires a user and a password" : ""
            let problem = "proxy \(proxy.address) answers CONNECT with status \(status)\(advice)"
            #expect(delivery.answers.count == 2)
            #expect(delivery.answers.allSatisfy { $0.fate == .notSent && $0.cause == .connect })
            #expect(delivery.answers.allSatisfy { $0.detail == problem })
            #expect(delivery.state.failedConnectsInARow == 2 && delivery.state.lastConnectFailure == problem)
            #expect(single.status == 0 && single.cause == .connect && single.detail == problem)
            #expect(proxy.heads.count == 3 && !proxy.heads.contains { $0.contains("marked") })
        }
    }

    @Test func aProxyThatHangsUpOrIsNotThereSendsNothing() async throws {
        try await withProxy(answering: 0) { proxy in
            for address in [try HTTPProxy(proxy.address), try HTTPProxy("http://localhost:1")] {
                var options = TransportOptions()
                options.proxy = address
                let endpoint = try Endpoint("https://localhost:2")
                let delivery = try await deliver(someRequests(1), to: endpoint, options, by: .engine)
                let single = try await get(HTTPSURL("https://localhost:2/"), through: address)
                #expect(delivery.answers.map(\.fate) == [.notSent] && delivery.answers.map(\.cause) == [.connect])
                #expect(delivery.answers.first?.detail.hasPrefix("through proxy \(address): ") == true)
                #expect(single.cause == .connect && single.detail.hasPrefix("through proxy \(address): "))
            }
        }
    }

    /// The proxy's own 200 must not be mistaken for the server's answer.
    @Test func whatIsLostInsideTheTunnelIsAmbiguous() async throws {
        try await APNsPeer.with(#"[{"do":"close"}]"#) { peer in
            try await withProxy { proxy in
                var options = peer.options
                options.proxy = try HTTPProxy(proxy.address)
                let delivery = try await deliver(peer.requests(0..<1), to: peer.endpoint, options, by: .engine)
                #expect(delivery.answers.map(\.fate) == [.ambiguous] && delivery.answers.map(\.cause) == [.lost])
            }
        }
    }

    @Test func theServerIsVerifiedThroughTheTunnel() async throws {
        let server = try await TLSServer.start(host: "localhost")
        try await withProxy { proxy in
            var options = TransportOptions()
            options.proxy = try HTTPProxy(proxy.address)
            let delivery = try await deliver(someRequests(1), to: server.endpoint, options, by: .engine)
            let single = try await get(HTTPSURL("https://localhost:\(server.port)/"), through: HTTPProxy(proxy.address))
            #expect(delivery.answers.map(\.fate) == [.notSent] && delivery.answers.map(\.cause) == [.tls])
            #expect(single.status == 0 && single.cause == .tls)
            #expect(proxy.heads.count == 2)
        }
        await server.stop()
    }

    @Test func aProxyByTLSIsVerifiedToo() async throws {
        let said = Array("HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n".utf8)
        let url = try HTTPSURL("https://push.example.com/secret")
        // A server for each, because a failed handshake may or may not consume the server's output.
        let unknown = try await TLSServer.start(host: "localhost", saying: said)
        let mistrusting = try await get(url, through: HTTPProxy("https://localhost:\(unknown.port)"))
        await unknown.stop()
        #expect(mistrusting.cause == .tls)
        let server = try await TLSServer.start(host: "localhost", saying: said, ["-naccept", "1"])
        let proxy = try HTTPProxy("https://localhost:\(server.port)")
        let trusting = try await get(url, caFile: server.caFile, through: proxy)
        let received = await server.finished()
        #expect(trusting.cause == .connect && trusting.detail.contains("with status 407"))
        #expect(received.contains("CONNECT push.example.com:443 HTTP/1.1"))
        #expect(!received.contains { $0.contains("secret") || $0.contains("marked") })
    }

    /// The bytes pass through two TLS connections, so that one of them may hold bytes that the socket no longer has.
    @Test(arguments: [2, 200_000])
    func pushesGoThroughAProxyByTLS(_ size: Int) async throws {
        let body = String(repeating: "x", count: size)
        try await APNsPeer.with(#"[{"do":"status","status":500,"body":"\#(body)"}]"#) { peer in
            try await withProxy { proxy in
                try await TLSFront.with(port: proxy.port) { front in
                    var options = peer.options
                    let both = try [peer.sandbox.ready.caFile, front.caFile].map {
                        try String(contentsOfFile: $0, encoding: .utf8)
                    }
                    let caFile = front.caFile + ".both"
                    try both.joined(separator: "\n").write(toFile: caFile, atomically: true, encoding: .utf8)
                    options.caFile = caFile
                    options.answerLimit = 1 << 20
                    options.proxy = try HTTPProxy("https://localhost:\(front.port)")
                    let delivery = try await deliver(peer.requests(0..<40), to: peer.endpoint, options, by: .engine)
                    #expect(delivery.byTag.count == 40 && delivery.answers.allSatisfy { $0.status == 500 })
                    #expect(delivery.answers.allSatisfy { $0.body.count == size })
                    #expect(delivery.state.established == proxy.heads.count)
                    #expect(try await peer.arrivals().values.allSatisfy { $0 == 1 })
                }
            }
        }
    }

    @Test func aProxyByTLSThatIsNotTrustedGetsNoRequest() async throws {
        try await withProxy { proxy in
            try await TLSFront.with(port: proxy.port) { front in
                var options = TransportOptions()
                options.proxy = try HTTPProxy("https://localhost:\(front.port)")
                let endpoint = try Endpoint("https://localhost:1")
                let delivery = try await deliver(someRequests(1), to: endpoint, options, by: .engine)
                #expect(delivery.answers.map(\.fate) == [.notSent] && delivery.answers.map(\.cause) == [.tls])
                #expect(proxy.heads.isEmpty)
            }
        }
    }

    /// `user:päss:wörd` as Basic authentication (RFC 7617).
    private static let authorization = "Basic dXNlcjpww6Rzczp3w7ZyZA=="

    private func authenticated(_ proxy: ConnectProxy, _ password: String?) throws -> HTTPProxy {
        var address = try HTTPProxy(proxy.address.replacing("http://", with: "http://user@"))
        address.password = ProxyPassword(file: "/password") {
            guard let password else { throw CancellationError() }
            return password
        }
        return address
    }

    @Test func aUserAndAPasswordOpenTheTunnel() async throws {
        try await APNsPeer.with { peer in
            try await withProxy(requiring: Self.authorization) { proxy in
                var options = peer.options
                options.proxy = try authenticated(proxy, "päss:wörd")
                let delivery = try await deliver(peer.requests(0..<20), to: peer.endpoint, options, by: .engine)
                #expect(delivery.answers.count == 20 && delivery.answers.allSatisfy { $0.status == 200 })
                #expect(try await peer.sandbox.received().allSatisfy { $0.headers["proxy-authorization"] == nil })
                let opened = proxy.heads.count
                let url = try HTTPSURL("\(peer.endpoint)/nowhere")
                let single = try await get(url, caFile: options.caFile, through: options.proxy)
                #expect(single.status > 0 && proxy.heads.count == opened + 1)
            }
        }
    }

    @Test(arguments: ["wrong", nil])
    func anotherPasswordIsRefusedAndNotShown(_ password: String?) async throws {
        try await withProxy(requiring: Self.authorization) { proxy in
            let endpoint = try Endpoint("https://localhost:1")
            var options = TransportOptions()
            options.proxy = try authenticated(proxy, password)
            let delivery = try await deliver(someRequests(1), to: endpoint, options, by: .engine)
            let expected =
                password == nil ? "the proxy's password: " : "with status 407: it refuses the user or the password"
            #expect(delivery.answers.map(\.fate) == [.notSent])
            let detail = try #require(delivery.answers.first?.detail)
            #expect(detail.contains(expected) && !detail.contains("wrong") && !detail.contains("user@"))
            #expect(proxy.heads.count == (password == nil ? 0 : 1))
            guard password != nil else { return }
            let single = try await get(HTTPSURL("https://localhost:1/"), through: options.proxy)
            #expect(single.cause == .connect && single.detail == detail)
        }
    }

    @Test func singleRequestsGoThroughTheTunnel() async throws {
        let server = try await TLSServer.start(host: "localhost", saying: Array(Self.accepted.utf8), ["-naccept", "1"])
        try await withProxy { proxy in
            let url = try HTTPSURL("https://localhost:\(server.port)/token")
            let answer = try await get(url, caFile: server.caFile, through: HTTPProxy(proxy.address))
            #expect(answer.status == 200 && answer.body == Array("{}".utf8))
            // Only the proxy sent this header.
            #expect(answer.headers["retry-after"] == nil)
            #expect(proxy.heads.count == 1 && proxy.heads.first?.contains("marked") == false)
        }
        #expect(await server.finished().contains("authorization: marked"))
    }

    @Test func originsThatStrangersNameAreReachedDirectly() async throws {
        let server = try await TLSServer.start(host: "localhost", saying: Array(Self.accepted.utf8))
        var options = MultiOriginOptions(
            destinations: try DestinationPolicy(hosts: ["*"], networks: ["127.0.0.1", "::1"])
        )
        options.transport.caFile = server.caFile
        options.transport.proxy = try HTTPProxy("http://localhost:1")
        let final = options
        let requests = try someRequests(1, origin: server.endpoint)
        let delivery = try await deliver(requests) { try MultiOriginClient(options: final) }
        await server.stop()
        #expect(delivery.answers.map(\.status) == [200])
    }

    @Test func theEnvironmentNeitherSetsAProxyNorTakesOneAway() async throws {
        let server = try await TLSServer.start(host: "localhost", saying: Array(Self.accepted.utf8))
        await #expect(processExitsWith: .success) { [port = server.port as Int, caFile = server.caFile as String] in
            for name in ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "http_proxy"] {
                setenv(name, "http://localhost:1", 1)
            }
            setenv("no_proxy", "*", 1)
            var request = try SingleRequest("GET", HTTPSURL("https://localhost:\(port)/"))
            request.caFile = caFile
            #expect(try request.send().status == 200)
            request.proxy = try HTTPProxy("http://localhost:1")
            #expect(try request.send().cause == .connect)

            var options = TransportOptions()
            options.caFile = caFile
            let endpoint = try Endpoint("https://localhost:\(port)")
            let requests = try someRequests(1, deadline: .seconds(3))
            // The server speaks HTTP/1.1 only, so it was reached.
            let direct = try await deliver(requests, to: endpoint, options, by: .engine)
            #expect(direct.answers.map(\.cause) == [.tls])
            options.proxy = request.proxy
            let tunnelled = try await deliver(requests, to: endpoint, options, by: .engine)
            #expect(tunnelled.answers.map(\.cause) == [.connect])
        }
        await server.stop()
    }
}
