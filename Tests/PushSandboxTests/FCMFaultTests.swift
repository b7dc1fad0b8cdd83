import Testing

@testable import PushSandbox

@Suite(.timeLimit(.minutes(5)))
struct FCMFaultTests {
    @Test(arguments: FCMErrorCode.allCases)
    func everyCodeHasItsStatusAndDetail(code: FCMErrorCode) async throws {
        try await withSandbox { fixture in
            try fixture.faults(
                #"[{"do": "status", "provider": "fcm", "reason": "\#(code.rawValue)", "match": {"token": "^bad"}}]"#
            )
            let client = try await fixture.connect()
            let token = try await GoogleClient(fixture).accessToken(fixture, by: client)
            #expect(try await client.push(.fcm(token, #"{"token":"good"}"#)).status == 200)
            let response = try await client.push(.fcm(token, #"{"token":"bad:1"}"#))
            #expect(response.status == code.status)
            #expect(response.body.contains(#"FcmError","errorCode":"\#(code.rawValue)""#))
            #expect(response.body.contains("QuotaFailure") == (code == .quotaExceeded))
            let line = try #require(try await fixture.sandbox.received(after: 2).first)
            #expect((line.target, line.reason, line.fault) == ("bad:1", code.rawValue, "status"))
            await client.close()
        }
    }

    @Test func answersOfOthersHaveNoDetail() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            let token = try await GoogleClient(fixture).accessToken(fixture, by: client)
            for (status, type) in [(401, "application/json"), (404, "application/json"), (502, "text/html")] {
                try fixture.faults(#"[{"do": "status", "provider": "fcm", "status": \#(status), "retry_after": 3}]"#)
                let response = try await client.push(.fcm(token))
                #expect(response.status == status)
                #expect(response.header("content-type")?.hasPrefix(type) == true)
                #expect(response.header("retry-after") == "3")
                #expect(!response.body.contains("errorCode"))
            }
            try fixture.faults(#"[{"do": "status", "provider": "fcm", "status": 400, "body": "{\"raw\":1}"}]"#)
            #expect(try await client.push(.fcm(token)).body == #"{"raw":1}"#)
            await client.close()
        }
    }

    @Test func aReasonBelongsToTheServicesThatHaveIt() async throws {
        try await withSandbox { fixture in
            try fixture.faults(#"[{"do": "status", "reason": "UNREGISTERED"}]"#)
            let client = try await fixture.connect()
            let token = try await GoogleClient(fixture).accessToken(fixture, by: client)
            #expect(try await client.push(fixture.request()).status == 200)
            #expect(try await client.push(.fcm(token)).status == 404)
            await client.close()
        }
    }

    @Test func quotasAreTwoBucketsFilledEachMinute() async throws {
        try await withSandbox {
            $0.projectQuota = 4
            $0.deviceQuota = 2
        } _: { fixture in
            let client = try await fixture.connect()
            let token = try await GoogleClient(fixture).accessToken(fixture, by: client)
            for expected in [200, 200, 429] {
                #expect(try await client.push(.fcm(token, #"{"token":"a"}"#)).status == expected)
            }
            #expect(try await client.push(.fcm(token, #"{"token":"b"}"#)).status == 200)
            let response = try await client.push(.fcm(token, #"{"token":"b"}"#))
            #expect(response.status == 429)
            #expect(response.header("retry-after").flatMap { Int($0) }.map { (1...60).contains($0) } == true)
            #expect(response.body.contains(#""subject":"project:demo-project""#))
            fixture.clock.advance(seconds: 60)
            #expect(try await client.push(.fcm(token, #"{"token":"a"}"#)).status == 200)
            await client.close()
        }
    }

    @Test func theStreamsOfGoogleAreThereFromTheFirstRequest() async throws {
        try await withSandbox {
            $0.openStreamLimit = 50
        } _: { fixture in
            let requests = (0..<50).map { TestRequest.fcm("x", #"{"token":"t\#($0)"}"#) }
            let client = try await fixture.connect(first: requests)
            for index in 0..<50 {
                #expect(await client.response(on: 2 * index + 1).status == 401)
            }
            #expect(client.seen.streamLimits == [1, 50])
            #expect(fixture.sandbox.counts.refusedStreams == 0)
            // A request with a provider token then gets APNs' normal limit.
            #expect(try await client.push(fixture.request()).status == 200)
            #expect(client.seen.streamLimits == [1, 50, 1000])
            await client.close()
        }
    }
}
