import Foundation
import Testing

@testable import PushSandbox

@Suite(.timeLimit(.minutes(5)))
struct ControlTests {
    @Test func itTellsWhatWasReceived() async throws {
        try await withSandbox { fixture in
            let control = ControlClient(port: fixture.sandbox.controlPort)
            #expect(try await control.received("after=0").isEmpty)
            let client = try await fixture.connect()
            for token in ["aa", "bb", "cc"] {
                #expect(try await client.push(fixture.request(token: token)).status == 200)
            }
            #expect(try await client.push(fixture.request(token: "zz")).status == 400)
            #expect(
                try await control.received("after=1").map(\.path) == ["/3/device/bb", "/3/device/cc", "/3/device/zz"]
            )
            #expect(try await control.received("after=1&limit=1").map(\.n) == [2])
            #expect(try await control.received("after=0") == fixture.sandbox.received(after: 0))
            let counts = try await control.counts()
            #expect(counts.byProvider == ["apns": ["200": 3, "400 BadDeviceToken": 1]])
            #expect((counts.connections, counts.openConnections, counts.distinctTokens) == (1, 1, 3))
            await client.close()
        }
    }

    @Test func aReaderCanWaitForWhatIsYetToCome() async throws {
        try await withSandbox { fixture in
            let control = ControlClient(port: fixture.sandbox.controlPort)
            let client = try await fixture.connect()
            async let line = control.received("after=0&wait=30")
            async let counts = control.counts("?at_least=2&wait=30")
            #expect(try await client.push(fixture.request()).status == 200)
            let first = try await line
            #expect(first.map(\.n).first == 1)
            #expect(try await client.push(fixture.request()).status == 200)
            let counted = try await counts
            #expect(counted.received == 2)
            #expect(try await control.received("after=2&wait=0.01").isEmpty)
            await client.close()
        }
    }

    @Test func stoppingLetsWhoWaitsGo() async throws {
        try await withSandbox { fixture in
            async let nothing = fixture.sandbox.received(after: 0, within: .seconds(3600))
            await fixture.sandbox.stop()
            let pushes = try await nothing
            #expect(pushes.isEmpty)
        }
    }

    @Test func faultsAreSetShownAndCleared() async throws {
        try await withSandbox { fixture in
            let control = ControlClient(port: fixture.sandbox.controlPort)
            let client = try await fixture.connect()
            let list = #"[{"do": "status", "reason": "Shutdown"}]"#
            #expect(try await control.send("POST", "/faults", body: list).status == 204)
            #expect(try await control.send("GET", "/faults").text == list)
            #expect(try await client.push(fixture.request()).reason == "Shutdown")
            let refused = try await control.send("POST", "/faults", body: #"[{"do": "slow", "ms": "1"}]"#)
            #expect(refused.status == 400)
            #expect(refused.text.hasPrefix(#"{"error":"faults[0].ms: must be an integer"#))
            #expect(try await client.push(fixture.request()).reason == "Shutdown")
            #expect(try await control.send("DELETE", "/faults").status == 204)
            #expect(try await client.push(fixture.request()).status == 200)
            await client.close()
        }
    }

    @Test(arguments: [
        ("GET", "/nothing", 404), ("PUT", "/faults", 405), ("POST", "/counts", 405), ("GET", "/received?after=x", 400),
        ("GET", "/received?after=-1", 400), ("GET", "/received?wait=-1", 400),
        ("GET", "/counts?at_least=1&wait=x", 400),
    ])
    func otherRequestsAreRefused(method: String, path: String, status: Int) async throws {
        try await withSandbox { fixture in
            let answer = try await ControlClient(port: fixture.sandbox.controlPort).send(method, path)
            #expect(answer.status == status)
            #expect(answer.text.hasPrefix(#"{"error":"#))
        }
    }
}
