import FanfareCore
import Foundation
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import TestKit
import Testing

@testable import APIKit
@testable import FanfareConfiguration
@testable import FanfareHTTP
@testable import FanfareTools

@Suite(.database) struct ListenerTests {
    @Test func healthIsTold() async throws {
        try await APIWorld.with { api in
            let live = try await api.ask("GET", "/livez")
            #expect(live.status == 200 && live.body == #"{"status":"ok"}"#)
            var ready = try await api.ask("GET", "/readyz")
            // A busy machine may need some time to open the first session.
            for _ in 0..<20 where ready.status == 503 { ready = try await api.ask("GET", "/readyz") }
            #expect(ready.status == 200)
            #expect(try ready.json["database"] == true)
            api.stands(openBreakers: ["shop/apns/production"])
            let open = try await api.ask("GET", "/readyz")
            #expect(open.status == 200 && open.body.contains("shop/apns/production"))
            for (lease, listens) in [(false, true), (true, false)] {
                api.stands(lease: lease, listens: listens)
                let not = try await api.ask("GET", "/readyz")
                #expect(not.status == 503 && not.headers["retry-after"] == "1")
                #expect(try not.json["lease"] == .bool(lease))
            }
        }
    }

    @Test func aDatabaseThatIsAwayIsToldAtOnce() async throws {
        // Nothing listens at port 1.
        try await APIWorld.with(APIWorld.configuration(url: "postgres://127.0.0.1:1/none")) { api in
            let ready = try await api.ask("GET", "/readyz")
            #expect(ready.status == 503)
            #expect(try ready.json["database"] == false)
            #expect(try await api.ask("GET", "/livez").status == 200)
        }
    }

    @Test func whatThereIsNotIsAProblemDocument() async throws {
        try await APIWorld.with { api in
            let absent = try await api.ask("GET", "/v1/nothing")
            #expect(absent.status == 404 && absent.headers["content-type"] == "application/problem+json")
            let problem = try absent.json
            #expect(problem["type"] == "urn:fanfare:problem:absent" && problem["status"] == 404)
            #expect(problem["request_id"]?.stringValue == absent.headers["x-request-id"])
            let method = try await api.ask("DELETE", "/livez")
            #expect(method.status == 405 && method.headers["allow"] == "GET")
            let head = try await api.ask("HEAD", "/livez")
            #expect(head.status == 200 && head.body.isEmpty)
            #expect(try await api.ask("HEAD", "/v1/status").status == 405)
        }
    }

    @Test func anAddressThatIsTakenIsToldBeforeAnythingBegins() async throws {
        try await APIWorld.with { api in
            let error = #expect(throws: ToolError.self) {
                try AddressProbe.check(.tcp(host: "127.0.0.1", port: api.port))
            }
            #expect(error?.exitCode == 69)
        }
        let nowhere = #expect(throws: ToolError.self) { try AddressProbe.check(.tcp(host: "192.0.2.1", port: 0)) }
        #expect(nowhere?.exitCode == 78)
    }

    @Test func aUnixSocketIsListenedAtAndGoesWithTheServer() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("fanfare-\(UUID()).sock").path
        var configuration = try APIWorld.configuration()
        configuration.api.listen = .unix(path: path)
        try await APIWorld.with(configuration) { _ in
            let reply = try await onThread {
                let wire = try Wire(path: path)
                wire.send("GET /livez HTTP/1.1\r\nHost: fanfare\r\n\r\n")
                return try wire.reply()
            }
            #expect(reply.status == 200)
            let taken = #expect(throws: ToolError.self) { try AddressProbe.check(.unix(path: path)) }
            #expect(taken?.exitCode == 69)
        }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func whatWasBegunIsAnsweredWhileTheServerDrains() async throws {
        try await APIWorld.with { api in
            let port = api.port
            let wire = try await onThread {
                let wire = try Wire(port: port)
                wire.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
                _ = try wire.reply()
                // The head of the next request has arrived when the server is told to shut down.
                wire.send("POST /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n")
                return wire
            }
            await api.shutDown()
            try await onThread {
                wire.send("{}")
                _ = try? wire.reply()
                wire.awaitEnd()
            }
        }
    }

    @Test(arguments: [
        ("127.0.0.1", 200), ("localhost:8080", 200), ("[::1]:80", 200), ("LOCALHOST", 200), ("evil.example", 421),
        ("127.evil.example:80", 421), ("192.168.0.1", 421), ("localhost.evil.example", 421),
    ])
    func onLoopbackOnlyThisHostIsMeant(host: String, status: Int) async throws {
        try await APIWorld.with { api in
            let port = api.port
            let reply = try await onThread {
                let wire = try Wire(port: port)
                wire.send("GET /livez HTTP/1.1\r\nHost: \(host)\r\n\r\n")
                return try wire.reply()
            }
            #expect(reply.status == status)
        }
    }

    @Test func tooManyHeadersAreRefused() async throws {
        try await APIWorld.with { api in
            let port = api.port
            let reply = try await onThread {
                let wire = try Wire(port: port)
                let long = String(repeating: "a", count: 20_000)
                wire.send("GET /livez HTTP/1.1\r\nHost: localhost\r\nX: \(long)\r\n\r\n")
                return try wire.reply()
            }
            #expect(reply.status == 400)
        }
    }

    @Test(arguments: [false, true])
    func aRequestThatTricklesIsCutOff(hasHead: Bool) throws {
        let channel = EmbeddedChannel(handler: RequestDeadline(head: .seconds(30), body: .seconds(10)))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        channel.embeddedEventLoop.advanceTime(by: .seconds(29))
        if hasHead {
            try channel.writeInbound(
                HTTPRequestPart.head(.init(method: .post, scheme: "http", authority: "x", path: "/"))
            )
            for _ in 0..<9 {
                channel.embeddedEventLoop.advanceTime(by: .seconds(1))
                try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: "x")))
            }
        }
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    /// The response is sent before the request has arrived: the rest of its body and the next request still have
    /// deadlines.
    @Test func aRequestThatWasRefusedBeforeItCameIsCutOffToo() throws {
        let channel = EmbeddedChannel(handler: RequestDeadline(head: .seconds(30), body: .seconds(10)))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        for _ in 0..<2 {
            try channel.writeInbound(
                HTTPRequestPart.head(.init(method: .post, scheme: "http", authority: "x", path: "/"))
            )
            try channel.writeOutbound(HTTPResponsePart.end(nil))
            channel.embeddedEventLoop.advanceTime(by: .seconds(9))
            try channel.writeInbound(HTTPRequestPart.end(nil))
            channel.embeddedEventLoop.advanceTime(by: .seconds(29))
            #expect(channel.isActive)
        }
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    /// A partial read does not extend the deadline; falling below the write limit ends it.
    @Test func whoDoesNotReadInTimeIsCutOff() throws {
        let channel = EmbeddedChannel(handler: AnswerDeadline(ListenerTimes()))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        for isWritable in [false, true, false] {
            channel.isWritable = isWritable
            channel.pipeline.fireChannelWritabilityChanged()
            channel.embeddedEventLoop.advanceTime(by: isWritable ? .hours(1) : .seconds(29))
            #expect(channel.isActive)
        }
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test(arguments: [(false, 2), (true, 7)])
    func aServerThatDrainsWaitsForNobodyLong(isRead: Bool, seconds: Int64) throws {
        let channel = EmbeddedChannel(handler: AnswerDeadline(ListenerTimes()))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        channel.isWritable = isRead
        channel.pipeline.fireChannelWritabilityChanged()
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        channel.embeddedEventLoop.advanceTime(by: .seconds(seconds) - .nanoseconds(1))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .nanoseconds(1))
        #expect(!channel.isActive)
    }

    @Test func aRequestThatCameMayTakeItsTime() throws {
        let channel = EmbeddedChannel(handler: RequestDeadline(head: .seconds(30), body: .seconds(10)))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try channel.writeInbound(
            HTTPRequestPart.head(.init(method: .get, scheme: "http", authority: "x", path: "/"))
        )
        try channel.writeInbound(HTTPRequestPart.end(nil))
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
        try channel.writeOutbound(HTTPResponsePart.end(nil))
        channel.embeddedEventLoop.advanceTime(by: .seconds(30))
        #expect(!channel.isActive)
    }
}

@Suite struct ListenAddressTests {
    @Test(arguments: [
        ("127.0.0.1:80", "127.0.0.1:80", true), (":8080", "127.0.0.1:8080", true), ("[::1]:0", "[::1]:0", true),
        ("localhost:1", "localhost:1", true), ("0.0.0.0:80", "0.0.0.0:80", false),
        ("127.example.com:80", "127.example.com:80", false),
        ("push.example:443", "push.example:443", false),
    ])
    func addressesAreRead(text: String, shown: String, isLocal: Bool) {
        let address = ListenAddress(tcp: text)
        #expect(address?.description == shown)
        #expect(address?.isLocal == isLocal)
    }

    @Test(arguments: ["8080", "host", "host:", "host:99999", "host:-1", "[host]:1", "a b:1", "::1:80", "http://x:1"])
    func whatIsNoAddressIsRefused(text: String) {
        #expect(ListenAddress(tcp: text) == nil)
    }

    @Test func keysThatNeedEachOtherAreAskedFor() {
        #expect(throws: ConfigurationError.self) {
            try APIWorld.configuration("  certificate_file: a.pem", url: "postgres:///x")
        }
        #expect(throws: ConfigurationError.self) { try APIWorld.configuration("  rate: 0", url: "postgres:///x") }
    }
}

@Suite struct RouteTableTests {
    private let table = RouteTable([
        Route(.get, "/a/{name}", nil) { _ in .nothing }, Route(.get, "/a/b", nil) { _ in .nothing },
        Route(.post, "/a/{name}/c", nil) { _ in .nothing },
    ])

    @Test func theCloserRouteCounts() throws {
        guard case .found(let route, let names) = table.match(.get, "/a/b") else { throw Wire.Ended() }
        #expect(route.path == "/a/b" && names.isEmpty)
        guard case .otherMethods([.get]) = table.match(.delete, "/a/b") else { throw Wire.Ended() }
    }

    @Test func partsAreDecodedOneByOne() throws {
        guard case .found(_, let names) = table.match(.get, "/a/x%2Fc%20%C3%A4") else { throw Wire.Ended() }
        #expect(names == ["name": "x/c ä"])
        for path in ["/a/", "/a/%00", "/a/%ff", "/a//c", "a/x"] {
            guard case .unknown = table.match(.get, path) else {
                Issue.record("\(path) was found")
                continue
            }
        }
    }
}
