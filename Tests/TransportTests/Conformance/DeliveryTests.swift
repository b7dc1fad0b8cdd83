import PushTransport
import TestKit
import Testing

@Suite(.serialized, .timeLimit(.minutes(2)))
struct DeliveryTests {
    /// The sandbox allows 1 stream until it has seen a valid token and refuses further ones, like APNs.
    @Test(arguments: Transport.allCases)
    func coldStartAgainstStreamLimitOneLosesNothing(_ transport: Transport) async throws {
        try await APNsPeer.with { peer in
            let delivery = try await deliver(peer.requests(0..<500), to: peer.endpoint, peer.options, by: transport)
            #expect(delivery.answers.allSatisfy { $0.status == 200 && $0.body.isEmpty })
            #expect(delivery.byTag.count == 500 && delivery.answers.count == 500)
            #expect(delivery.state.established == 2)
            #expect(delivery.state.lost == 0)
            #expect(delivery.mostInFlight > 20)
            let arrivals = try await peer.arrivals()
            #expect(arrivals.count == 500 && arrivals.values.allSatisfy { $0 == 1 })
        }
    }

    @Test(arguments: Transport.allCases)
    func fieldsPathAndBodyArriveAsGiven(_ transport: Transport) async throws {
        try await APNsPeer.with { peer in
            let head = try HeaderBlock(
                peer.head.fields + [HeaderField("content-type", "application/json"), HeaderField("x-empty", "")],
                varyingName: "apns-id"
            )
            let request = try PushRequest(
                tag: 7,
                path: Array("/3/device/../a%2Fb".utf8),
                head: head,
                varyingValue: Array(APNsPeer.apnsID(7).utf8),
                body: PushBody(Array(#"{"a":""#.utf8), suffix: Array(#""}"#.utf8)),
                insertion: Array("middle".utf8)
            )
            let delivery = try await deliver([request], to: peer.endpoint, peer.options, by: transport)
            #expect(delivery.count(.answered) == 1)
            let received = try #require(try await peer.sandbox.received().first)
            #expect(received.path == "/3/device/../a%2Fb")
            #expect(received.headers["apns-id"] == APNsPeer.apnsID(7))
            #expect(received.headers["content-type"] == "application/json")
            #expect(received.headers["x-empty"]?.isEmpty == true)
            #expect(received.headers["accept"] == nil && received.headers["user-agent"] == nil)
            #expect(received.body == #"{"a":"middle"}"#)
        }
    }

    /// One connection carries both; a request without a body ends with its header.
    @Test(arguments: Transport.allCases)
    func theMethodIsThatOfTheBlock(_ transport: Transport) async throws {
        try await APNsPeer.with { peer in
            let delete = try HeaderBlock(peer.head.fields, method: .delete)
            let post = try HeaderBlock(peer.head.fields)
            let requests = try (0..<40).map { number in
                let isDelete = number % 3 == 0
                return try PushRequest(
                    tag: UInt64(number),
                    path: Array("/3/device/\(hexadecimal(number, digits: 64))".utf8),
                    head: isDelete ? delete : post,
                    body: PushBody(isDelete ? [] : Array(#"{"aps":{"alert":"x"}}"#.utf8))
                )
            }
            let delivery = try await deliver(requests, to: peer.endpoint, peer.options, by: transport)
            #expect(delivery.answers.allSatisfy { $0.status == ($0.tag % 3 == 0 ? 405 : 200) })
            let received = try await peer.sandbox.received()
            #expect(received.count { $0.method == "DELETE" && $0.body?.isEmpty ?? true } == 14)
            #expect(received.count { $0.method == "POST" && $0.headers["content-length"] != "0" } == 26)
        }
    }

    @Test(arguments: Transport.allCases)
    func bodiesLargerThanOneFrameArriveWhole(_ transport: Transport) async throws {
        try await APNsPeer.with { peer in
            let text = String(repeating: "0123456789", count: 3_000)
            let request = try PushRequest(
                tag: 1,
                path: Array("/3/device/\(hexadecimal(1, digits: 64))".utf8),
                head: peer.head,
                varyingValue: Array(APNsPeer.apnsID(1).utf8),
                body: PushBody(Array(#"{"aps":{"alert":""#.utf8), suffix: Array(#""}}"#.utf8)),
                insertion: Array(text.utf8)
            )
            let delivery = try await deliver([request], to: peer.endpoint, peer.options, by: transport)
            // The body is read completely, and is then too large for APNs.
            #expect(delivery.answers.map(\.status) == [413])
            let received = try #require(try await peer.sandbox.received().first)
            #expect(received.body?.contains(text) == true)
        }
    }

    @Test(arguments: Transport.allCases)
    func refusalsBringReasonAndRetryAfter(_ transport: Transport) async throws {
        let faults = #"[{"do":"status","status":429,"reason":"TooManyRequests","retry_after":17}]"#
        try await APNsPeer.with(faults) { peer in
            let delivery = try await deliver(peer.requests(0..<3), to: peer.endpoint, peer.options, by: transport)
            for answer in delivery.answers {
                #expect(answer.status == 429 && answer.fate == .answered && answer.cause == .none)
                #expect(String(decoding: answer.body, as: UTF8.self).contains("TooManyRequests"))
                #expect(answer.header("retry-after") == "17")
                #expect(answer.header("apns-id") == APNsPeer.apnsID(Int(answer.tag)))
            }
            #expect(delivery.answers.count == 3)
        }
    }

    @Test(arguments: Transport.allCases)
    func aRetiredConnectionTakesNoMoreRequests(_ transport: Transport) async throws {
        try await APNsPeer.with { peer in
            let endpoint = try peer.endpoint
            var options = peer.options
            options.connections = 1
            let requests = try peer.requests(0..<2)
            let answers = try await onThread("sender") { [options] in
                let client = try transport.open(endpoint, options)
                var answers: [PushAnswer] = []
                for index in requests.indices {
                    #expect(client.submit(requests[index...index]) == 1)
                    while answers.count == index { client.poll(timeout: .milliseconds(20), into: &answers) }
                    // The second time the connection may be closed, which is not an error.
                    for _ in 0..<2 { client.retire(answers[index].connection) }
                }
                client.close(into: &answers)
                return answers
            }
            #expect(answers.map(\.status) == [200, 200])
            #expect(Set(answers.map(\.connection)).count == 2)
            let connections = try await peer.sandbox.received().map(\.connection)
            #expect(connections.count == 2 && Set(connections).count == 2)
        }
    }

    @Test(arguments: [101, 5_000, 50_000, 200_000], Transport.allCases)
    func answersAreCutAtTheirLimit(_ count: Int, _ transport: Transport) async throws {
        let body = String(repeating: "x", count: count)
        try await APNsPeer.with(#"[{"do":"status","status":500,"body":"\#(body)"}]"#) { peer in
            var options = peer.options
            options.answerLimit = 100
            let delivery = try await deliver(peer.requests(0..<1), to: peer.endpoint, options, by: transport)
            #expect(delivery.answers.map(\.status) == [500], "\(delivery.answers)")
            #expect(delivery.answers.first?.body == Array(repeating: UInt8(ascii: "x"), count: 100))
        }
    }

    @Test(arguments: Transport.allCases)
    func oldConnectionsAreReplacedWithoutLoss(_ transport: Transport) async throws {
        try await APNsPeer.with(#"[{"do":"slow","ms":20}]"#) { peer in
            var options = peer.options
            options.maxConnectionAge = .milliseconds(50)
            options.connectBurst = 4
            options.connectInterval = .milliseconds(100)
            options.streams = 10
            let delivery = try await deliver(
                peer.requests(0..<120),
                to: peer.endpoint,
                options,
                by: transport,
                within: .seconds(60)
            )
            #expect(delivery.count(.answered) == 120)
            #expect(delivery.state.established > 4)
            #expect(delivery.state.lost == 0)
            let arrivals = try await peer.arrivals()
            #expect(arrivals.count == 120 && arrivals.values.allSatisfy { $0 == 1 })
        }
    }

    @Test(arguments: Transport.allCases)
    func windowFollowsALimitThatFalls(_ transport: Transport) async throws {
        try await APNsPeer.with(#"[{"do":"slow","ms":5}]"#) { peer in
            let endpoint = try peer.endpoint
            let options = peer.options
            let requests = try peer.requests(0..<400)
            let first = try await deliver(Array(requests.prefix(50)), to: endpoint, options, by: transport)
            try await peer.sandbox.setFaults(#"[{"do":"stream_limit","value":3},{"do":"slow","ms":5}]"#)
            let second = try await deliver(Array(requests.suffix(350)), to: endpoint, options, by: transport)
            #expect(first.count(.answered) == 50)
            #expect(second.count(.answered) == 350)
            if transport.followsTheLimit { #expect(second.mostInFlight < 20) }
        }
    }
}
