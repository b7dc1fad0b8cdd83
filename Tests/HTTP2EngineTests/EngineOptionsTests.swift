import HTTP2Engine
import PushTransport
import Testing

struct EngineOptionsTests {
    @Test func aProxyIsRefusedRatherThanGoneAround() throws {
        var options = TransportOptions()
        options.proxy = try HTTPProxy("http://proxy.example:3128")
        #expect(throws: TransportError.self) {
            _ = try HTTP2Engine(endpoint: Endpoint("https://localhost:1"), options: options)
        }
    }
}
