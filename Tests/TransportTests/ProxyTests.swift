import Glibc
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
                let delivery = try await deliver(peer.requests(0..<100), to: peer.endpoint, options, by: .curl)
                #expect(delivery.count(.answered) == 100 && delivery.answers.allSatisfy { $0.status == 200 })
                #expect(try await peer.arrivals().values.allSatisfy { $0 == 1 })
                #expect(delivery.state.established == proxy.heads.count)
                let authority = try peer.endpoint.authority
                let expected = "CONNECT \(authority) HTTP/1.1\nHost: \(authority)\nProxy-Connection: Keep-Alive\n\n"
                #expect(Set(proxy.heads) == [expected])
            }
        }
    }

    @Test(arguments: [407, 502, 503])
    func aProxyThatRefusesIsNamedAndNothingIsSent(_ status: Int) async throws {
        try await withProxy(answering: status) { proxy in
            var options = TransportOptions()
            options.proxy = try HTTPProxy(proxy.address)
            let endpoint = try Endpoint("https://localhost:1")
            let delivery = try await deliver(someRequests(2), to: endpoint, options, by: .curl)
            let single = try await get(HTTPSURL("https://localhost:1/"), through: HTTPProxy(proxy.address))
            let problem = "proxy \(proxy.address) answers CONNECT with status \(status)"
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
                let delivery = try await deliver(someRequests(1), to: endpoint, options, by: .curl)
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
                let delivery = try await deliver(peer.requests(0..<1), to: peer.endpoint, options, by: .curl)
                #expect(delivery.answers.map(\.fate) == [.ambiguous] && delivery.answers.map(\.cause) == [.lost])
            }
        }
    }

    @Test func theServerIsVerifiedThroughTheTunnel() async throws {
        let server = try await TLSServer.start(host: "localhost")
        try await withProxy { proxy in
            var options = TransportOptions()
            options.proxy = try HTTPProxy(proxy.address)
            let delivery = try await deliver(someRequests(1), to: server.endpoint, options, by: .curl)
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
        #expect(trusting.cause == .connect && trusting.detail.hasSuffix("with status 407"))
        #expect(received.contains("CONNECT push.example.com:443 HTTP/1.1"))
        #expect(!received.contains { $0.contains("secret") || $0.contains("marked") })
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
            // The server has no answer left, but the request arrives.
            let direct = try await deliver(requests, to: endpoint, options, by: .curl)
            #expect(direct.answers.map(\.fate) == [.ambiguous])
            options.proxy = request.proxy
            let tunnelled = try await deliver(requests, to: endpoint, options, by: .curl)
            #expect(tunnelled.answers.map(\.cause) == [.connect])
        }
        await server.stop()
    }
}
