import FanfareCore
import PushTransport
import Testing

@testable import FanfareProviders

/// The requests of FCM's topic API.
struct FCMTopicOperationTests {
    private func path(_ operation: FCMTopicOperation, _ registration: String, _ topic: String) -> String? {
        operation.path(project: "demo", registration: registration, topic: topic)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func oneRequestChangesOneMembership() {
        #expect(FCMTopicOperation.subscribe.method == .post && FCMTopicOperation.unsubscribe.method == .delete)
        #expect(FCMTopicOperation.subscribe.body == Array("{}".utf8) && FCMTopicOperation.unsubscribe.body.isEmpty)
        let collection = "/v1/projects/demo/registrations/cTmBeCwtQDuDsClbyr6d3z/topicSubscriptions"
        #expect(path(.subscribe, "cTmBeCwtQDuDsClbyr6d3z", "news") == collection + "?topic_name=news")
        #expect(path(.unsubscribe, "cTmBeCwtQDuDsClbyr6d3z", "news") == collection + "/news?allow_missing=true")
    }

    /// `%` is a character of topic names, and tokens may hold any text.
    @Test(
        arguments: [
            ("dEvIcE:APA91b-1_x.~", "dEvIcE%3AAPA91b-1_x.~"), ("a/b?c#d&e=f+g h", "a%2Fb%3Fc%23d%26e%3Df%2Bg%20h"),
            ("%3A", "%253A"), ("é\u{0}\n", "%C3%A9%00%0A"), ("...", "..."),
        ]
    )
    func everyByteIsEncodedThatIsNotUnreserved(text: String, encoded: String) throws {
        let subscribe = try #require(path(.subscribe, text, text))
        #expect(subscribe == "/v1/projects/demo/registrations/\(encoded)/topicSubscriptions?topic_name=\(encoded)")
        let unsubscribe = try #require(path(.unsubscribe, text, text))
        #expect(
            unsubscribe == "/v1/projects/demo/registrations/\(encoded)/topicSubscriptions/\(encoded)?allow_missing=true"
        )
        let head = try HeaderBlock([], method: .delete)
        #expect(throws: Never.self) {
            try PushRequest(tag: 0, path: Array(unsubscribe.utf8), head: head, body: PushBody([]))
        }
    }

    /// Without it, the end of a subscription to `..` would name the collection of all subscriptions.
    @Test(arguments: FCMTopicOperation.allCases) func noNameLeavesItsSegment(operation: FCMTopicOperation) {
        for name in [".", ".."] {
            #expect(path(operation, name, "news") == nil)
            #expect(path(operation, "token", name) == nil)
        }
    }
}

/// The judgement on every status and body.
struct FCMTopicVerdictTests {
    private typealias Row = (Int, String, FCMTopicVerdict, FCMTopicVerdict)

    private static func error(_ status: String, _ code: String? = nil, message: String = "m") -> String {
        let detail = code.map {
            #","details":[{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#($0)"}]"#
        }
        return #"{"error":{"status":"\#(status)","message":"\#(message)"\#(detail ?? "")}}"#
    }

    private static let retry: FCMTopicVerdict = .retry(floor: 0)
    private static let minute: FCMTopicVerdict = .throttled(floor: Micros.minute)
    private static let full: FCMTopicVerdict = .refused("TOO_MANY_TOPICS")

    /// Status, body, and the verdicts on a subscription and on the end of one.
    private static let rows: [Row] = [
        (200, "", .done, .done), (200, "<html>", .done, .done), (204, "", .done, .done),
        (409, error("ALREADY_EXISTS"), .done, .refused("ALREADY_EXISTS")),
        (409, error("ABORTED"), retry, retry), (409, "<html>", retry, retry),
        (409, error("FAILED_PRECONDITION"), .refused("FAILED_PRECONDITION"), .refused("FAILED_PRECONDITION")),
        (404, error("NOT_FOUND", "UNREGISTERED"), .gone, .gone),
        (404, error("NOT_FOUND"), .unknown, .missing), (404, error("NOT_FOUND", "NEW_CODE"), .unknown, .missing),
        (404, "<html>", .stop(.notFound, words: "404"), .stop(.notFound, words: "404")),
        (
            400, error("INVALID_ARGUMENT", "INVALID_ARGUMENT"), .refused("INVALID_ARGUMENT"),
            .refused("INVALID_ARGUMENT")
        ),
        (400, error("INVALID_ARGUMENT"), .refused("INVALID_ARGUMENT"), .refused("INVALID_ARGUMENT")),
        (400, error("INVALID_ARGUMENT", message: "Too many topics."), full, full),
        (400, error("TOO_MANY_TOPICS"), full, full), (400, "no JSON", retry, retry),
        (401, "", .renewCredential, .renewCredential),
        (401, error("UNAUTHENTICATED"), .renewCredential, .renewCredential),
        (
            403, error("PERMISSION_DENIED", "SENDER_ID_MISMATCH"), .refused("SENDER_ID_MISMATCH"),
            .refused("SENDER_ID_MISMATCH")
        ),
        (
            403, error("PERMISSION_DENIED"), .stop(.permission, words: "403 PERMISSION_DENIED: m"),
            .stop(.permission, words: "403 PERMISSION_DENIED: m")
        ),
        (403, "", .stop(.permission, words: "403"), .stop(.permission, words: "403")),
        (429, "", minute, minute), (429, error("RESOURCE_EXHAUSTED"), minute, minute),
        (429, error("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", message: "Quota of topic changes"), minute, minute),
        (429, error("RESOURCE_EXHAUSTED", message: "too many topics"), full, full),
        (408, "", retry, retry), (405, "<html>", retry, retry),
        (418, error("UNKNOWN"), .refused("UNKNOWN"), .refused("UNKNOWN")),
        (413, "", .refused("status 413"), .refused("status 413")),
        (414, "<html>", .refused("status 414"), .refused("status 414")),
        (431, error("INVALID_ARGUMENT"), .refused("INVALID_ARGUMENT"), .refused("INVALID_ARGUMENT")),
        (500, error("INTERNAL", "INTERNAL"), retry, retry), (502, "<html>", retry, retry),
        (503, error("UNAVAILABLE", "UNAVAILABLE"), retry, retry), (504, "", retry, retry), (599, "", retry, retry),
        // A 5xx is no evidence about a registration.
        (500, error("NOT_FOUND", "UNREGISTERED"), retry, retry),
        (302, "", .stop(.foreign, words: "302"), .stop(.foreign, words: "302")),
        (100, "", .stop(.foreign, words: "100"), .stop(.foreign, words: "100")),
        (600, "", .stop(.foreign, words: "600"), .stop(.foreign, words: "600")),
    ]

    private func verdict(
        _ operation: FCMTopicOperation,
        _ status: Int,
        _ body: String,
        retryAfter: String? = nil
    ) -> FCMTopicVerdict {
        FCMTopicVerdict(operation, status: status, body: Array(body.utf8), retryAfter: retryAfter, now: 0)
    }

    @Test(arguments: rows.indices) func everyAnswerHasItsVerdict(row: Int) {
        let (status, body, subscribe, unsubscribe) = Self.rows[row]
        #expect(verdict(.subscribe, status, body) == subscribe, "\(status) \(body)")
        #expect(verdict(.unsubscribe, status, body) == unsubscribe, "\(status) \(body)")
    }

    /// Total: no status and no body traps, and none but a 2xx or the two documented ones counts as done.
    @Test func theVerdictIsTotal() {
        let bodies = [
            "", "{", "[]", #"{"error":7}"#, Self.error("X"), Self.error("NOT_FOUND", "UNREGISTERED"), "\u{0}",
        ]
        for status in -1...700 {
            for body in bodies {
                for operation in FCMTopicOperation.allCases {
                    let isDone = verdict(operation, status, body) == .done
                    #expect(isDone == (200...299).contains(status), "\(status) \(body)")
                }
            }
        }
    }

    @Test func retryAfterIsAFloor() {
        #expect(verdict(.subscribe, 429, "", retryAfter: "5") == .throttled(floor: 5 * Micros.second))
        #expect(verdict(.subscribe, 503, "<html>", retryAfter: "30") == .retry(floor: 30 * Micros.second))
        #expect(verdict(.subscribe, 429, "", retryAfter: "99999999999") == .throttled(floor: Micros.hour))
        #expect(verdict(.subscribe, 429, "", retryAfter: "soon") == Self.minute)
    }

    /// Google's messages name resources, and so registrations.
    @Test func wordsHoldNoRegistration() {
        let message = "Permission 'x' denied on resource 'projects/p/registrations/SECRET:1/topicSubscriptions/t'."
        guard
            case .stop(.permission, let words) = verdict(
                .subscribe,
                403,
                Self.error("PERMISSION_DENIED", message: message)
            )
        else {
            Issue.record("no stop")
            return
        }
        #expect(!words.contains("SECRET") && words.contains("registrations/…/topicSubscriptions/t"))
    }

    @Test func waitsDoubleUpToABoundWithJitter() {
        let pace = FCMTopicPace()
        #expect(
            (1...9).map { pace.wait(after: $0, floor: 0, random: 0) / 500_000 } == [1, 2, 4, 8, 16, 32, 60, 60, 60]
        )
        #expect(pace.wait(after: 1, floor: 0, random: 0.5) == 750_000)
        #expect(pace.wait(after: .max, floor: 0, random: 0.999) < Micros.minute)
        #expect(pace.wait(after: 1, floor: 20 * Micros.second, random: 0) == 20 * Micros.second)
        #expect(pace.hold(floor: 10 * Micros.second, random: 0.5) == 10_500_000)
        #expect(pace.hold(floor: .max, random: 0) == Micros.hour && pace.hold(floor: -1, random: 0.9) == 0)
    }
}
