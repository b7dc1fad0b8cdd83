import FanfareCore
import Testing

@testable import FanfareProviders

struct FCMTopicManagementTests {
    @Test func tokensAreSplitIntoCallsOfAThousand() throws {
        let tokens = (0..<2001).map { "token-\($0)" }
        let calls = try #require(FCMTopicManagement.calls(topic: "news", tokens: tokens))
        #expect(calls.map(\.tokens) == [0..<1000, 1000..<2000, 2000..<2001])
        let last = try JSONValue(parsing: calls[2].body)
        #expect(last == ["to": "/topics/news", "registration_tokens": ["token-2000"]])
        for call in calls {
            let body = try JSONValue(parsing: call.body)
            #expect(body["registration_tokens"]?.arrayValue?.compactMap(\.stringValue) == Array(tokens[call.tokens]))
        }
        #expect(try #require(FCMTopicManagement.calls(topic: "news", tokens: [])).isEmpty)
        #expect(FCMTopicManagement.calls(topic: "/topics/news", tokens: ["a"]) == nil)
        #expect(FCMTopicManagement.Operation.subscribe.path == "/iid/v1:batchAdd")
        #expect(FCMTopicManagement.Operation.unsubscribe.path == "/iid/v1:batchRemove")
    }

    private func answer(_ status: Int, _ body: String, retryAfter: String? = nil, count: Int = 1) -> FCMTopicAnswer {
        FCMTopicAnswer(status: status, body: Array(body.utf8), retryAfter: retryAfter, count: count, now: 0)
    }

    @Test(
        arguments: [
            ("NOT_FOUND", .dead(.strong)), ("INVALID_ARGUMENT", .dead(.weak)), ("TOO_MANY_TOPICS", .tooManyTopics),
            ("RESOURCE_EXHAUSTED", .retry), ("PERMISSION_DENIED", .otherProject), ("DEADLINE_EXCEEDED", .retry),
            ("INTERNAL", .retry), ("UNKNOWN", .retry), ("NEW", .refused("NEW")),
        ] as [(String, FCMTopicResult)]
    )
    func resultsKeepTheirOrder(error: String, result: FCMTopicResult) {
        let body = #"{"results":[{},{"error":"\#(error)"},{}]}"#
        #expect(answer(200, body, count: 3) == .results([.done, result, .done]))
    }

    @Test(
        arguments: [
            (200, "", nil, .retry(floor: 0)), (200, #"{"results":[]}"#, nil, .retry(floor: 0)),
            (200, #"{"results":[{},{}]}"#, nil, .retry(floor: 0)), (401, "", nil, .renewCredential),
            (429, "", nil, .retry(floor: Micros.minute)), (429, "", "5", .retry(floor: 5 * Micros.second)),
            (503, "<html>", "30", .retry(floor: 30 * Micros.second)), (500, "", nil, .retry(floor: 0)),
            (400, #"{"error":"InvalidTopic"}"#, nil, .refused("InvalidTopic")),
            (403, #"{"error":{"status":"PERMISSION_DENIED"}}"#, nil, .refused("PERMISSION_DENIED")),
            (404, "<html>", nil, .refused("status 404")),
        ] as [(Int, String, String?, FCMTopicAnswer)]
    )
    func wholeCalls(status: Int, body: String, retryAfter: String?, expected: FCMTopicAnswer) {
        #expect(answer(status, body, retryAfter: retryAfter) == expected)
    }
}
