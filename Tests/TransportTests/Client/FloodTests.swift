import Glibc
import Programs
import PushTransport
import TestKit
import Testing

@testable import HTTP2Client

/// Peers that send frames without end and no answer; libcurl keeps reading as long as data arrives.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct FloodTests {
    /// Empty SETTINGS, which a server sends first.
    private static let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
    /// Frames that need no reply, since this server does not read.
    private static let frames: [(name: String, bytes: [UInt8])] = [
        ("unknown", [0, 0, 0, 0xFA, 0, 0, 0, 0, 0]), ("PRIORITY", [0, 0, 5, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 16]),
    ]

    @Test(arguments: frames.map(\.name))
    func aFloodOfFramesEndsItsConnectionAlone(_ name: String) async throws {
        let frame = try #require(Self.frames.first { $0.name == name }).bytes
        let server = try await TLSServer.start(host: "localhost", by: "h2")
        let flood = try await server.flood(Self.settings, then: Array(Array(repeating: frame, count: 1_800).joined()))
        let transport = server.options
        let delivery = try await deliver(someRequests(1, deadline: .seconds(20), origin: server.endpoint)) {
            let destinations = try DestinationPolicy(hosts: ["localhost"], networks: ["127.0.0.1", "::1"])
            var options = MultiOriginOptions(destinations: destinations)
            options.transport = transport
            // So low that any two records exceed the limit, on any machine.
            (options.callBudget.bytes, options.callBudget.time) = (8 * 1024, 0)
            return try MultiOriginClient(options: options)
        }
        flood.signal(SIGTERM)
        _ = await flood.exitStatus()
        await server.stop()
        let answer = try #require(delivery.answers.first)
        #expect(answer.fate != .answered && answer.detail == "its peer went on without an answer")
        #expect(delivery.state.open == 0)
    }

    @Test func onlyMuchForLongIsTooMuch() {
        var budget = CallBudget()
        let reads: [(bytes: Int, at: MonotonicTime)] = [
            (budget.bytes, 0), (1, 10), (budget.bytes, 9 + budget.time), (1, 10 + budget.time),
        ]
        let verdicts = reads.map { read in budget.take(read.bytes) { read.at } }
        #expect(verdicts == [false, false, false, true])
    }
}
