import NIOHPACK
import NIOHTTP2
import Programs
import Testing

@testable import PushSandbox

@Suite(.timeLimit(.minutes(5)))
struct FaultTests {
    static let other = String(repeating: "ee", count: 32)

    @Test func aStatusIsForTheTokensThatMatch() async throws {
        try await withSandbox { fixture in
            try fixture.faults(
                #"""
                [{"match": {"token": "^0a1b"}, "do": "status", "reason": "Unregistered", "timestamp_age_ms": 5000},
                 {"match": {"token": "^ee"}, "do": "status", "status": 418, "reason": "Teapot", "retry_after": 7}]
                """#
            )
            let client = try await fixture.connect()
            let gone = try await client.push(fixture.request())
            #expect(gone.status == 410)
            let timestamp = fixture.clock.microseconds / 1000 - 5000
            #expect(gone.body == #"{"reason":"Unregistered","timestamp":\#(timestamp)}"#)
            let unheardOf = try await client.push(fixture.request(token: Self.other))
            #expect(unheardOf.status == 418)
            #expect(unheardOf.body == #"{"reason":"Teapot"}"#)
            #expect(unheardOf.headers.first(name: "retry-after") == "7")
            #expect(try await client.push(fixture.request(token: "abcd")).status == 200)
            let malformed = try await client.push(fixture.request().with("apns-topic", nil))
            #expect(malformed.reason == "MissingTopic", "a mistake is answered before a fault")
            let lines = try await fixture.sandbox.received(after: 0)
            #expect(lines.map(\.fault) == ["status", "status", nil, nil])
            #expect(lines.map(\.status) == [410, 418, 200, 400])
            #expect(lines.map(\.reason) == ["Unregistered", "Teapot", nil, "MissingTopic"])
            await client.close()
        }
    }

    @Test(arguments: [
        (#""reason": "Unregistered""#, #"{"reason":"Unregistered","timestamp":1790000000000}"#),
        (#""reason": "Unregistered", "timestamp_ms": null"#, #"{"reason":"Unregistered"}"#),
        (#""reason": "Unregistered", "timestamp_ms": 12"#, #"{"reason":"Unregistered","timestamp":12}"#),
        (#""reason": "ServiceUnavailable""#, #"{"reason":"ServiceUnavailable"}"#),
        (#""status": 500, "body": "<html>""#, "<html>"),
        (#""status": 500, "body": """#, ""),
        (#""status": 500"#, ""),
    ])
    func theBodyOfAStatusIsAChoice(fields: String, body: String) async throws {
        try await withSandbox { fixture in
            try fixture.faults(#"[{"do": "status", \#(fields)}]"#)
            let client = try await fixture.connect()
            let response = try await client.push(fixture.request())
            #expect(response.isComplete)
            #expect(response.body == body)
            await client.close()
        }
    }

    @Test func timesCountsPerTokenAndTotalOverall() async throws {
        try await withSandbox { fixture in
            try fixture.faults(
                #"""
                [{"match": {"token": "^0a"}, "do": "status", "reason": "TooManyRequests", "times": 1},
                 {"match": {"token": "^ee"}, "do": "status", "reason": "Shutdown", "total": 1, "skip": 1}]
                """#
            )
            let client = try await fixture.connect()
            var statuses: [Int?] = []
            for token in ["0a01", "0a01", "0a02", "0a02", "ee01", "ee02", "ee03"] {
                statuses.append(try await client.push(fixture.request(token: token)).status)
            }
            #expect(statuses == [429, 200, 429, 200, 200, 503, 200])
            await client.close()
        }
    }

    @Test func anEnvironmentCanBeSingledOut() async throws {
        try await withSandbox { fixture in
            try fixture.faults(#"[{"environment": "production", "do": "status", "reason": "BadDeviceToken"}]"#)
            let production = try await fixture.connect()
            let sandbox = try await fixture.connect(sandboxEnvironment: true)
            #expect(try await production.push(fixture.request()).reason == "BadDeviceToken")
            #expect(try await sandbox.push(fixture.request()).status == 200)
            await production.close()
            await sandbox.close()
        }
    }

    @Test func aShareIsStableAndOfTheRightSize() throws {
        let plan = FaultPlan()
        try plan.replace(Array(#"[{"match": {"share": 0.03, "salt": "a"}, "do": "refuse"}]"#.utf8))
        func hits() -> Set<Int> {
            Set(
                (0..<20_000).filter {
                    plan.decide(provider: .apns, environment: .production, target: "token\($0)", accepted: true)
                        .action != nil
                }
            )
        }
        let first = hits()
        #expect((500..<700).contains(first.count))
        #expect(hits() == first)
        try plan.replace(Array(#"[{"match": {"share": 0.03, "salt": "b"}, "do": "refuse"}]"#.utf8))
        #expect(first.intersection(hits()).count < 60, "another salt picks another share")
        try plan.replace(Array(#"[{"match": {"share": 1}, "do": "refuse"}]"#.utf8))
        #expect(hits().count == 20_000)
    }

    @Test func theHashIsTheSameInEveryProcess() {
        var hash = StableHash()
        hash.combine("salt")
        hash.combine("token")
        // Computed independently, by FNV-1a and the finalizer of MurmurHash3.
        #expect(hash.value == 0x9b65_e94d_1e2f_634a)
    }

    @Test func aRefusedStreamLeavesTheConnectionGood() async throws {
        try await withSandbox { fixture in
            try fixture.faults(#"[{"do": "refuse", "times": 1}]"#)
            let client = try await fixture.connect()
            #expect(try await client.push(fixture.request(id: CanonicalUUID.random())).reset == .refusedStream)
            #expect(try await client.push(fixture.request()).status == 200)
            let counts = fixture.sandbox.counts
            #expect(counts.unanswered == 1)
            #expect(counts.duplicates == 0)
            await client.close()
        }
    }

    @Test func aStreamCanBeResetWithAnyCode() async throws {
        try await withSandbox { fixture in
            try fixture.faults(#"[{"do": "reset", "code": "INTERNAL_ERROR", "total": 1}, {"do": "reset", "code": 8}]"#)
            let client = try await fixture.connect()
            #expect(try await client.push(fixture.request()).reset == .internalError)
            #expect(try await client.push(fixture.request()).reset == .cancel)
            await client.close()
        }
    }

    @Test func aResetConnectionEndsWithoutGoodbye() async throws {
        try await withSandbox { fixture in
            try fixture.faults(#"[{"do": "reset", "total": 1}]"#)
            let id = CanonicalUUID.random()
            // NIO does not distinguish a TCP reset from an end without close_notify; curl does.
            let curl = try await fixture.request(id: id).pushByCurl(to: fixture.sandbox)
            #expect(curl.status == 55 || curl.status == 56, "sending or receiving, whichever notices first")
            #expect(curl.errors.contains("Connection reset by peer"), "\(curl.errors)")
            let again = try await fixture.connect()
            #expect(try await again.push(fixture.request(id: id)).status == 200)
            #expect(fixture.sandbox.counts.duplicates == 1, "the client cannot know that the first was lost")
            await again.close()
        }
    }

    @Test(arguments: [("body", 1), ("headers", 0)])
    func aConnectionCanCloseWithoutAnAnswer(point: String, received: Int) async throws {
        try await withSandbox { fixture in
            try fixture.faults(#"[{"do": "close", "at": "\#(point)"}]"#)
            let client = try await fixture.connect()
            let stream =
                point == "body"
                ? try await client.begin(fixture.request()) : try await client.beginHeaders(fixture.request())
            let seen = await client.wait { $0.isClosed }
            #expect(seen.responses[stream]?.status == nil)
            #expect(seen.goAways.isEmpty)
            #expect(fixture.sandbox.counts.received == received)
        }
    }

    @Test func aSlowAnswerIsAnAnswer() async throws {
        try await withSandbox { fixture in
            try fixture.faults(#"[{"do": "slow", "ms": 40}, {"do": "status", "reason": "InternalServerError"}]"#)
            let client = try await fixture.connect()
            let start = ContinuousClock.now
            #expect(try await client.push(fixture.request()).status == 500)
            #expect(ContinuousClock.now - start >= .milliseconds(40))
            await client.close()
        }
    }

    @Test func aSilentConnectionDoesNotEvenAnswerPings() async throws {
        try await withSandbox { fixture in
            try fixture.faults(#"[{"do": "silence", "total": 1}]"#)
            let silent = try await fixture.connect()
            _ = try await silent.begin(fixture.request())
            #expect(await fixture.sandbox.counts(atLeast: 1, within: .seconds(30)).unanswered == 1)
            try await silent.ping()
            _ = try await silent.begin(fixture.request())
            // One event loop serves both connections: an answer here means that earlier input was processed.
            let lively = try await fixture.connect()
            #expect(try await lively.push(fixture.request()).status == 200)
            try await lively.ping()
            _ = await lively.wait { $0.pingAcks == 1 }
            #expect(silent.seen.pingAcks == 0)
            #expect(silent.seen.responses.isEmpty)
            #expect(!silent.seen.isClosed)
            #expect(fixture.sandbox.counts.received == 2)
            // The silent connection ends with the sandbox, because it would not answer a GOAWAY.
            await lively.close()
        }
    }

    @Test(arguments: [
        (#""last_stream": "below", "debug": {"reason": "Shutdown"}"#, 1, #"{"reason":"Shutdown"}"#, nil, 0),
        (#""last_stream": "at""#, 3, "", 200, 0),
        (#""last_stream": "at", "answer": false"#, 3, "", nil, 1),
        (#""last_stream": "above", "debug": "later""#, 2_147_483_647, "later", 200, 0),
    ])
    func aGoAwaySaysWhatWasProcessed(
        fields: String,
        last: Int,
        debug: String,
        status: Int?,
        repeatsThatCount: Int
    ) async throws {
        try await withSandbox { fixture in
            try fixture.faults(#"[{"do": "goaway", "total": 1, "skip": 1, \#(fields)}]"#)
            let client = try await fixture.connect()
            let id = CanonicalUUID.random()
            #expect(try await client.push(fixture.request()).status == 200)
            let response = try await client.push(fixture.request(id: id))
            #expect(response.status == status)
            let seen = await client.wait { $0.isClosed }
            #expect(seen.goAways == [.init(lastStream: last, debug: debug)])
            if status == nil {
                let again = try await fixture.connect()
                #expect(try await again.push(fixture.request(id: id)).status == 200)
                #expect(fixture.sandbox.counts.duplicates == repeatsThatCount)
                await again.close()
            }
        }
    }
}
