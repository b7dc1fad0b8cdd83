import NIOHTTP2
import Testing

@testable import PushSandbox

@Suite(.timeLimit(.minutes(5)))
struct StreamLimitTests {
    @Test func oneStreamUntilACredentialIsShown() async throws {
        try await withSandbox {
            $0.streamLimit = 500
        } _: { fixture in
            let client = try await fixture.connect()
            _ = await client.wait { !$0.streamLimits.isEmpty }
            let refused = try await client.push(fixture.request().with("authorization", nil))
            #expect(refused.status == 403)
            #expect(client.seen.streamLimits == [1])
            // A valid credential is sufficient, even if the push is invalid.
            #expect(try await client.push(fixture.request(token: "zz")).reason == "BadDeviceToken")
            #expect(client.seen.streamLimits == [1, 500])
            await client.close()
        }
    }

    @Test func aSecondStreamIsRefusedWhileTheFirstIsOpen() async throws {
        try await withSandbox { fixture in
            try fixture.faults(#"[{"do": "slow", "ms": 50, "total": 1}]"#)
            let client = try await fixture.connect(first: [try fixture.request(), try fixture.request()])
            let second = await client.response(on: 3)
            #expect(second.reset == .refusedStream)
            #expect(await client.response(on: 1).status == 200)
            #expect(client.seen.goAways.isEmpty)
            let counts = fixture.sandbox.counts
            #expect(counts.refusedStreams == 1)
            #expect(counts.received == 1)
            await client.close()
        }
    }

    @Test func aFaultChangesTheLimitOfOpenConnections() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            #expect(try await client.push(fixture.request()).status == 200)
            try fixture.faults(#"[{"do": "stream_limit", "value": 3}]"#)
            #expect(await client.wait { $0.streamLimits.count == 3 }.streamLimits == [1, 1000, 3])
            fixture.sandbox.clearFaults()
            #expect(await client.wait { $0.streamLimits.count == 4 }.streamLimits == [1, 1000, 3, 1000])
            #expect(try await client.push(fixture.request()).status == 200)
            await client.close()
        }
    }

    @Test func aFaultClosesTheWindowAndOpensItAgain() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            #expect(try await client.push(fixture.request()).status == 200)
            try fixture.faults(#"[{"do": "window", "value": 0}]"#)
            #expect(await client.wait { $0.windows.count == 2 }.windows == [65_535, 0])
            let stream = try await client.begin(fixture.request())
            // The request's body cannot have been sent before this is answered.
            try await client.ping()
            _ = await client.wait { $0.pingAcks == 1 }
            #expect(fixture.sandbox.counts.received == 1)
            let late = try await fixture.connect()
            #expect(await late.wait { $0.windows.count == 2 }.windows == [65_535, 0], "new connections are told")
            fixture.sandbox.clearFaults()
            #expect(await client.response(on: stream).status == 200)
            #expect(client.seen.windows == [65_535, 0, 65_535])
            await client.close()
            await late.close()
        }
    }

    @Test func manyStreamsAtOnceAreCounted() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            #expect(try await client.push(fixture.request()).status == 200)
            // So slow that all are open at once; stopping the sandbox does not wait for them.
            try fixture.faults(#"[{"do": "slow", "ms": 600000}]"#)
            for _ in 0..<150 {
                _ = try await client.begin(fixture.request())
            }
            let counts = await fixture.sandbox.counts(atLeast: 151, within: .seconds(30))
            #expect(counts.received == 151)
            #expect(counts.maxStreams == 150)
            await client.close()
        }
    }
}
