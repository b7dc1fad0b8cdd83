import PushTransport
import TestKit
import Testing

struct TransportValueTests {
    @Test(arguments: [
        ("https://api.push.apple.com", "api.push.apple.com", 443, "api.push.apple.com"),
        ("https://api.push.apple.com:2197/", "api.push.apple.com", 2197, "api.push.apple.com:2197"),
        ("HTTPS://LOCALHOST:8443", "localhost", 8443, "localhost:8443"),
        ("https://127.0.0.1", "127.0.0.1", 443, "127.0.0.1"),
        ("https://[::1]:8443", "::1", 8443, "[::1]:8443"),
    ])
    func endpointsAreParsed(_ text: String, _ host: String, _ port: UInt16, _ authority: String) throws {
        let endpoint = try Endpoint(text)
        #expect(endpoint.host == host)
        #expect(endpoint.port == port)
        #expect(endpoint.authority == authority)
        #expect(try Endpoint(endpoint.description) == endpoint)
    }

    @Test(arguments: [
        ("http://api.push.apple.com", EndpointError.Reason.scheme),
        ("api.push.apple.com", .scheme),
        ("https://", .host),
        ("https://a..b", .host),
        ("https://-a", .host),
        ("https://a b", .host),
        ("https://[::1", .host),
        ("https://[a]", .host),
        ("https://::1", .port),
        ("https://a:", .port),
        ("https://a:0", .port),
        ("https://a:65536", .port),
        ("https://a:+1", .port),
        ("https://a/path", .notAnOrigin),
        ("https://a?x=1", .notAnOrigin),
        ("https://user:marked@a", .userInformation),
    ])
    func otherTextIsRefusedWithTheReason(_ text: String, _ reason: EndpointError.Reason) {
        let error = #expect(throws: EndpointError.self) { try Endpoint(text) }
        #expect(error?.reason == reason)
        #expect(error?.description.contains("marked") == false)
    }

    @Test(arguments: [
        ("http://proxy.example.com:3128", HTTPProxy.Scheme.http, "proxy.example.com", 3128),
        ("HTTPS://PROXY:443", .https, "proxy", 443),
        ("http://10.0.0.1:80", .http, "10.0.0.1", 80),
        ("http://[::443]:8080", .http, "::443", 8080),
    ])
    func proxiesAreParsed(_ text: String, _ scheme: HTTPProxy.Scheme, _ host: String, _ port: UInt16) throws {
        let proxy = try HTTPProxy(text)
        #expect(proxy.scheme == scheme && proxy.endpoint.host == host && proxy.endpoint.port == port)
        #expect(proxy.user == nil && proxy.description == text.lowercased())
    }

    @Test func aProxysUserIsParsedAndNotShown() throws {
        var proxy = try HTTPProxy("http://marked@proxy:3128")
        #expect(proxy.user == "marked" && proxy.endpoint.hostAndPort == "proxy:3128")
        #expect(proxy.description == "http://proxy:3128")
        #expect(try proxy.credentials() == nil)
        proxy.password = ProxyPassword(file: "/p") { "sec:ret" }
        #expect(try proxy.credentials() == "marked:sec:ret")
        proxy.password = ProxyPassword(file: "/p") { throw CancellationError() }
        #expect(throws: TransportError.self) { try proxy.credentials() }
    }

    @Test(arguments: [
        ("proxy:3128", HTTPProxyError.scheme),
        ("socks5://proxy:1080", .scheme),
        ("", .scheme),
        ("http://user:marked@proxy:3128", .password),
        ("http://user:mark/ed@proxy:3128", .password),
        ("http://user:mar@ked@proxy:3128", .password),
        ("http://:marked@proxy:3128", .password),
        ("http://@proxy:3128", .user),
        ("http://us er@proxy:3128", .user),
        ("http://mark%40ed@proxy:3128", .user),
        ("http://\(String(repeating: "m", count: 257))@proxy:3128", .user),
        ("http://us/er@proxy:3128", .path),
        ("http://proxy:3128/", .path),
        ("http://proxy:3128?marked", .path),
        ("http://:3128", .host),
        ("http://a b:3128", .host),
        ("http://proxy\r\nmarked:3128", .host),
        ("http://proxy", .port),
        ("http://[::443]", .port),
        ("http://proxy:", .port),
        ("http://proxy:65536", .port),
    ])
    func otherProxiesAreRefusedWithTheReason(_ text: String, _ reason: HTTPProxyError) {
        let error = #expect(throws: HTTPProxyError.self) { try HTTPProxy(text) }
        #expect(error == reason)
        #expect(error?.description.contains("mark") == false)
    }

    /// A line break in a rendered value would start another header or another request.
    @Test(arguments: ["marked\r\nb: c", "marked\nb", "marked\u{0}", " marked", "marked\t", "marked\u{7F}"])
    func valuesThatBreakOutAreRefused(_ value: String) throws {
        let error = #expect(throws: HeaderError.self) { try HeaderField("apns-collapse-id", value) }
        #expect(error?.description.contains("marked") == false)
        let head = try HeaderBlock([], varyingName: "apns-id")
        #expect(throws: HeaderError.self) { try request(head: head, varyingValue: Array(value.utf8)) }
    }

    @Test(arguments: ["Apns-Id", "", "a b", "a:", ":path", "ä"])
    func namesThatAreNoTokensAreRefused(_ name: String) {
        #expect(throws: HeaderError.self) { try HeaderField(name, "x") }
        #expect(throws: HeaderError.self) { try HeaderBlock([], varyingName: name) }
    }

    @Test func aNameMayAppearOnce() throws {
        let field = try HeaderField("apns-topic", "x")
        #expect(throws: HeaderError.self) { try HeaderBlock([field, field]) }
        #expect(throws: HeaderError.self) { try HeaderBlock([field], varyingName: "apns-topic") }
        #expect(throws: HeaderError.self) { try HeaderBlock([HeaderField("content-length", "1")]) }
    }

    @Test(arguments: ["", "x", "/a b", "/a\r\nb", "/ä"])
    func pathsThatBreakOutAreRefused(_ path: String) throws {
        let head = try HeaderBlock([])
        let error = #expect(throws: HeaderError.self) { try request(path: path, head: head) }
        #expect(error?.reason == .path)
    }

    /// One drawn byte at each place of texts of visible characters is judged as if each byte were looked at alone.
    @Test(arguments: 1...70)
    func eachByteOfAPathAndAValueCounts(_ length: Int) throws {
        let head = try HeaderBlock([], varyingName: "apns-id")
        var generator = SeededGenerator(seed: UInt64(length))
        func isAccepted(_ path: [UInt8], _ value: [UInt8]) -> Bool {
            (try? PushRequest(tag: 0, path: path, head: head, varyingValue: value, body: PushBody([]))) != nil
        }
        for place in Array(0..<length) + Array(0..<length) {
            var bytes = (0..<length).map { _ in UInt8.random(in: 0x21...0x7E, using: &generator) }
            bytes[place] =
                [.random(in: 0...0xFF, using: &generator), 0x20, 0x21, 0x7E, 0x7F, 0x80, 0x09]
                .randomElement(using: &generator) ?? 0
            let isVisible = bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F }
            let isPadded = [bytes[0], bytes[length - 1]].contains { $0 == 0x20 || $0 == 0x09 }
            let isValue = bytes.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 } && !isPadded
            #expect(isAccepted([UInt8(ascii: "/")] + bytes, [65]) == isVisible, "\(bytes)")
            #expect(isAccepted([UInt8(ascii: "/")], bytes) == isValue, "\(bytes)")
        }
    }

    @Test func varyingNameAndValueComeTogether() throws {
        let without = try HeaderBlock([])
        let with = try HeaderBlock([], varyingName: "topic")
        #expect(throws: HeaderError.self) { try request(head: without, varyingValue: [65]) }
        #expect(throws: HeaderError.self) { try request(head: with) }
        #expect(try request(head: with, varyingValue: [65]).contentLength == 3)
    }

    private func request(
        path: String = "/",
        head: HeaderBlock,
        varyingValue: [UInt8] = []
    ) throws -> PushRequest {
        let body = PushBody([1], suffix: [3])
        return try PushRequest(
            tag: 0,
            path: Array(path.utf8),
            head: head,
            varyingValue: varyingValue,
            body: body,
            insertion: [2]
        )
    }
}
