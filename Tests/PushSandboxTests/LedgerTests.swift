import Foundation
import NIOCore
import Testing

@testable import PushSandbox

@Suite(.timeLimit(.minutes(5)))
struct LedgerTests {
    @Test func aLineHoldsTheWholeRequest() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            let id = CanonicalUUID.random()
            let body = "{\"aps\":{\"alert\":\"Grüße \\n\u{1}\t\\\"x\\\"\"}}"
            let before = NIODeadline.now().uptimeNanoseconds
            let request = try fixture.request(id: id).with(body: body).adding("x-more", "a").adding("x-more", "b")
            #expect(try await client.push(request).status == 200)
            let line = try #require(try await fixture.sandbox.received(after: 0).first)
            #expect(line.n == 1)
            #expect(line.atNanoseconds > before && line.atNanoseconds < NIODeadline.now().uptimeNanoseconds)
            #expect(line.atUnixMicroseconds == fixture.clock.microseconds)
            #expect((line.connection, line.stream) == (1, 1))
            #expect((line.provider, line.environment, line.method) == ("apns", "production", "POST"))
            #expect(line.path == request.path)
            #expect(line.body == body)
            #expect((line.status, line.reason, line.fault) == (200, nil, nil))
            var expected = ["apns-topic": "com.example.demo", "apns-push-type": "alert", "apns-priority": "10"]
            expected.merge(["apns-id": id, "x-more": "a, b", ":authority": "localhost"]) { old, _ in old }
            #expect(line.headers.filter { $0.key != "authorization" } == expected)
            let credential = try #require(line.headers["authorization"])
            #expect(credential.hasPrefix("bearer #") && credential.count < 30, "the file holds no credential")
            await client.close()
        }
    }

    @Test func aBodyThatIsNoTextIsKeptInBase64() {
        var body = ByteBuffer(bytes: [0xff, 0x00])
        body.moveReaderIndex(to: 0)
        var line = JSONLine()
        line.append(Self.reception(body: body), n: 1, authorization: nil)
        let push = try? JSONDecoder().decode(ReceivedPush.self, from: Data(line.bytes))
        #expect(push?.body == nil)
        #expect(push?.bodyBase64 == "/wA=")
    }

    @Test func anyStretchOfManyLinesCanBeRead() async throws {
        try await withTemporaryFolder { folder in
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let ledger = try Ledger(path: folder + "/received.jsonl")
            let body = ByteBuffer(string: String(repeating: "x", count: 900))
            for _ in 0..<1500 {
                ledger.append(Self.reception(body: body))
            }
            for (after, limit, expected) in [
                (0, Int.max, Array(1...1500)), (255, 3, [256, 257, 258]), (256, 2, [257, 258]), (257, 1, [258]),
                (1498, .max, [1499, 1500]), (1500, .max, []), (9999, .max, []), (700, 0, []),
            ] {
                var numbers: [Int] = []
                try await ledger.extent(after: after).forEachBlock(limit: limit) { lines in
                    for line in lines.split(separator: UInt8(ascii: "\n")) {
                        numbers.append(try JSONDecoder().decode(ReceivedPush.self, from: line).n)
                    }
                }
                #expect(numbers == expected, "after \(after)")
            }
            ledger.close()
        }
    }

    @Test func duplicatesAreWhatADeviceMayHaveGotTwice() throws {
        let ledger = try Ledger(path: nil)
        func append(_ target: String, _ identity: String?, _ status: Int, ambiguous: Bool = false) {
            ledger.append(
                Self.reception(target: target, identity: identity, status: status, isAmbiguous: ambiguous)
            )
        }
        append("a", "1", 200)
        append("a", "2", 200)
        append("b", "1", 503)
        append("b", "1", 200)
        append("c", nil, 200)
        append("c", nil, 200)
        #expect(ledger.counts.duplicates == 0)
        append("a", "1", 200)
        #expect(ledger.counts.duplicates == 1)
        append("d", "1", 0, ambiguous: true)
        append("d", "1", 200)
        #expect(ledger.counts.duplicates == 2)
        append("e", "1", 0)
        append("e", "1", 200)
        let counts = ledger.counts
        #expect(counts.duplicates == 2)
        #expect(counts.distinctTokens == 5)
        #expect(counts.accepted == 8)
        #expect(counts.unanswered == 2)
        #expect(counts.byProvider == ["apns": ["200": 8, "503": 1, "none": 2]])
    }

    @Test func aSinkKeepsCountsOnly() async throws {
        try await withSandbox {
            $0.sink = true
        } _: { fixture in
            let client = try await fixture.connect()
            #expect(try await client.push(fixture.request()).status == 200)
            #expect(fixture.sandbox.counts.accepted == 1)
            #expect(!FileManager.default.fileExists(atPath: fixture.sandbox.ready.dir + "/received.jsonl"))
            let error = await #expect(throws: SandboxError.self) { try await fixture.sandbox.received(after: 0) }
            #expect(error?.code == .noLedger)
            let answer = try await ControlClient(port: fixture.sandbox.controlPort).send("GET", "/received?wait=30")
            #expect(answer.status == 409)
            await client.close()
        }
    }

    @Test func aLedgerCanKeepOnlySome() async throws {
        try await withSandbox {
            $0.ledgerCollapsePrefix = "sample-"
        } _: { fixture in
            let client = try await fixture.connect()
            for collapseID in ["other-1", "sample-1", nil, "sample-2"] {
                let request = try fixture.request()
                let push = collapseID.map { request.adding("apns-collapse-id", $0) } ?? request
                #expect(try await client.push(push).status == 200)
            }
            #expect(fixture.sandbox.counts.accepted == 4)
            let lines = try await fixture.sandbox.received(after: 0)
            #expect(lines.map(\.n) == [1, 2])
            #expect(lines.map { $0.headers["apns-collapse-id"] } == ["sample-1", "sample-2"])
            #expect(try await fixture.sandbox.received(after: 1).map(\.n) == [2])
            await client.close()
        }
    }

    static func reception(
        target: String = "00",
        identity: String? = nil,
        status: Int = 200,
        isAmbiguous: Bool = false,
        body: ByteBuffer = ByteBuffer()
    ) -> Reception {
        Reception(
            request: PushRequest(
                head: RequestHead(TestRequest(authorization: nil).head),
                environment: .production,
                body: body,
                atNanoseconds: 1,
                unixMicroseconds: 0
            ),
            connection: 1,
            stream: 1,
            provider: .apns,
            target: target,
            identity: identity,
            status: status,
            reason: nil,
            fault: nil,
            isAmbiguous: isAmbiguous,
            delivers: true,
            shownBody: nil,
            problem: nil,
            membership: nil
        )
    }
}
