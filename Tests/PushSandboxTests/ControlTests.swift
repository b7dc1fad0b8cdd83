import Foundation
import NIOHTTP1
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

    @Test(arguments: [
        (["Host": "attacker.example"], 403), (["Host": "localhost.attacker.example:80"], 403),
        (["Host": "127.0.0.1.nip.io"], 403),
        (["Origin": "http://127.0.0.1:8080"], 403), (["Origin": "null"], 403), (["Content-Type": "text/plain"], 415),
        (["Content-Type": "application/x-www-form-urlencoded"], 415), (["Content-Type": "application/json5"], 415),
        (["Content-Type": "Application/JSON; charset=utf-8"], 204), (["Host": "LOCALHOST:1"], 204),
        (["Host": "[::1]:1"], 204),
    ])
    func onlyProgramsOfThisMachineAreLetIn(headers: [String: String], status: Int) async throws {
        try await withSandbox { fixture in
            let control = ControlClient(port: fixture.sandbox.controlPort)
            let faults = #"[{"do": "status", "reason": "Shutdown"}]"#
            let answer = try await control.send("POST", "/faults", body: faults, headers: headers)
            #expect(answer.status == status)
            #expect(try await control.send("GET", "/faults").text == (status == 204 ? faults : "[]"))
        }
    }

    @Test func aRequestWithoutABodyNeedsNoType() async throws {
        try await withSandbox { fixture in
            let control = ControlClient(port: fixture.sandbox.controlPort)
            let made = try await control.send("POST", "/subscriptions")
            #expect(made.status == 201)
            let page = try await control.send("GET", "/counts", headers: ["Origin": "https://page.example"])
            #expect(page.status == 403)
        }
    }

    @Test(arguments: [[], ["localhost", "localhost"], [""], ["[::1"], ["::1"], [":80"], ["localhost."]])
    func otherHostsAreForeign(hosts: [String]) {
        #expect(ControlAdmission.refusal(HTTPHeaders(hosts.map { ("Host", $0) }), hasBody: false) != nil)
    }
}
