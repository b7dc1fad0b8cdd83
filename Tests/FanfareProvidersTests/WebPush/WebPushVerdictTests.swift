import FanfareCore
import Testing

@testable import FanfareProviders

private func verdict(
    _ status: Int,
    _ body: String = "",
    _ fields: [String: String] = [:],
    in circumstances: AttemptContext = context()
) -> Verdict {
    WebPushAnswer(status: status, body: Array(body.utf8)) { fields[$0] }.verdict(in: circumstances)
}

private func apple(_ reason: String) -> String { #"{"reason":"\#(reason)"}"# }

private func mozilla(_ code: Int, _ errno: String, _ message: String = "x") -> String {
    #"{"code":\#(code),"errno":\#(errno),"error":"E","message":"\#(message)","more_info":"https://example.com"}"#
}

private let minute = Disposition.retry(Retry(floor: Micros.minute))
private let senderMinute = Disposition.retry(Retry(floor: Micros.minute, scope: .credential))

/// The status policy, then each service's own table, row by row.
struct WebPushVerdictTests {
    @Test(
        arguments: [
            (200, .accepted, .final), (201, .accepted, .final), (202, .accepted, .final), (204, .accepted, .final),
            (301, .webPushStatus3xx, .callOperator), (307, .webPushStatus3xx, .callOperator),
            (400, .webPushBadRequest, .final), (401, .webPushUnauthorized, .renewCredential),
            (403, .webPushForbidden, .callOperator), (404, .goneWebPushNotFound, evidence(.strong)),
            (405, .webPushMethodNotAllowed, .final), (406, .retryingSenderThrottled, senderMinute),
            (410, .goneWebPushGone, evidence(.strong)), (413, .webPushPayloadTooLarge, .callOperator),
            (429, .retryingDeviceThrottled, minute), (500, .retryingServerError, .retry(Retry())),
            (502, .retryingStatus5xx, .retry(Retry())),
            (503, .retryingUnavailable, .retry(Retry())), (504, .retryingStatus5xx, .retry(Retry())),
        ] as [(Int, Outcome, Disposition)]
    )
    func statusPolicy(status: Int, outcome: Outcome, disposition: Disposition) {
        #expect(verdict(status) == Verdict(outcome, disposition))
    }

    @Test(
        arguments: [
            (206, .accepted, .final), (418, .webPushStatus4xx, .final), (507, .retryingStatus5xx, .retry(Retry())),
            (0, .webPushStatusOther, .final), (600, .webPushStatusOther, .final), (-7, .webPushStatusOther, .final),
        ] as [(Int, Outcome, Disposition)]
    )
    func othersGoByTheirClass(status: Int, outcome: Outcome, disposition: Disposition) {
        #expect(verdict(status) == Verdict(outcome, disposition, isUnrecognized: true))
    }

    @Test(
        arguments: [
            (400, "101", .webPushBadRequest), (404, "102", .goneWebPushNotFound), (410, "103", .goneWebPushGone),
            (413, "104", .webPushPayloadTooLarge), (410, "105", .goneWebPushGone), (410, "106", .goneWebPushGone),
            (400, "108", .goneWebPushInvalidSubscription), (401, "109", .webPushUnauthorized),
            (400, "110", .webPushBadRequest), (400, "111", .webPushBadRequest), (400, "112", .webPushBadRequest),
            (400, "113", .webPushBadRequest), (400, "114", .webPushBadRequest), (503, "201", .retryingUnavailable),
            (500, "201", .retryingServerError), (503, "202", .retryingUnavailable), (502, "900", .retryingStatus5xx),
            (502, "901", .retryingStatus5xx), (502, "902", .retryingStatus5xx), (502, "903", .retryingStatus5xx),
            (500, "null", .retryingServerError), (500, "999", .retryingServerError),
        ] as [(Int, String, Outcome)]
    )
    func mozillaNumbers(status: Int, errno: String, outcome: Outcome) {
        let verdict = verdict(status, mozilla(status, errno))
        #expect(verdict.outcome == outcome && !verdict.isUnrecognized)
        expectConsistent(verdict)
    }

    @Test(
        arguments: [
            (400, "BadTtl", .webPushBadRequest, .final), (400, "BadUrgency", .webPushBadRequest, .final),
            (400, "BadWebPushTopic", .webPushBadRequest, .final),
            (400, "BadWebPushRequest", .webPushBadRequest, .final),
            (400, "VapidPkHashMismatch", .webPushVAPIDKeyMismatch, .callOperator),
            (403, "VapidPkHashMismatch", .webPushVAPIDKeyMismatch, .callOperator),
            (400, "IdleTimeout", .retryingIdleTimeout, .retry(Retry())),
            (403, "BadAuthorizationHeader", .webPushForbidden, .pause(.credential)),
            (403, "BadJwtToken", .webPushForbidden, .renewCredential),
            (403, "BadVapidPublicKey", .webPushForbidden, .pause(.credential)),
            (404, "BadPath", .goneWebPushNotFound, evidence(.strong)),
            (405, "MethodNotAllowed", .webPushMethodNotAllowed, .final),
            (410, "Unregistered", .goneWebPushGone, evidence(.strong)),
            (413, "PayloadTooLarge", .webPushPayloadTooLarge, .callOperator),
            (429, "TooManyRequests", .retryingDeviceThrottled, minute),
            (500, "InternalServerError", .retryingServerError, .retry(Retry())),
            (503, "ServiceUnavailable", .retryingUnavailable, .retry(Retry())),
            (503, "Shutdown", .retryingShutdown, .retry(Retry())),
            (400, "Surprise", .webPushBadRequest, .final), (403, "Surprise", .webPushForbidden, .callOperator),
        ] as [(Int, String, Outcome, Disposition)]
    )
    func appleReasons(status: Int, reason: String, outcome: Outcome, disposition: Disposition) {
        let replaces = reason == "IdleTimeout" || reason == "Shutdown"
        #expect(verdict(status, apple(reason)) == Verdict(outcome, disposition, replacesConnection: replaces))
    }

    @Test(
        arguments: [
            (400, "UnauthorizedRegistration", .webPushVAPIDKeyMismatch),
            (
                403,
                "the VAPID credentials in the authorization header do not correspond to the credentials used to "
                    + "create the subscriptions.", .webPushVAPIDKeyMismatch
            ),
            (403, "crypto-key header had invalid format", .webPushForbidden),
            (403, "invalid JWT provided", .webPushForbidden),
            (403, "sender is not authenticated", .webPushForbidden),
            (403, "<html><title>Forbidden</title></html>", .webPushForbidden),
            (404, "A valid push subscription endpoint should be specified in the URL", .goneWebPushNotFound),
            (410, "push subscription has unsubscribed or expired.", .goneWebPushGone),
            (410, "NotRegistered", .goneWebPushGone),
        ] as [(Int, String, Outcome)]
    )
    func googleTexts(status: Int, text: String, outcome: Outcome) {
        let verdict = verdict(status, text)
        #expect(verdict.outcome == outcome)
        expectConsistent(verdict)
    }

    @Test(
        arguments: [
            (201, ["x-wns-notificationstatus": "received"], .accepted, .final),
            (201, ["x-wns-notificationstatus": "dropped"], .webPushDropped, .final),
            (200, ["x-wns-status": "Dropped"], .webPushDropped, .final),
            (
                200, ["x-wns-notificationstatus": "channelthrottled"], .retryingDeviceThrottled,
                .retry(Retry(floor: Micros.minute))
            ),
            (
                406, ["retry-after": "30"], .retryingSenderThrottled,
                .retry(Retry(floor: 30 * Micros.second, scope: .credential))
            ),
            (410, ["x-wns-error-description": "Domain Blocked"], .webPushDomainBlocked, .callOperator),
            (410, ["x-wns-error-description": "Channel expired"], .goneWebPushGone, evidence(.strong)),
            (
                400, ["x-wns-error-description": "Ttl value conflicts with X-WNS-Cache-Policy."], .webPushBadRequest,
                .final
            ),
        ] as [(Int, [String: String], Outcome, Disposition)]
    )
    func windowsFields(status: Int, fields: [String: String], outcome: Outcome, disposition: Disposition) {
        #expect(Set(fields.keys).isSubset(of: WebPushAnswer.headers))
        #expect(verdict(status, "", fields) == Verdict(outcome, disposition))
    }

    @Test(arguments: [
        (401, ""), (401, mozilla(401, "109")), (403, apple("BadJwtToken")), (403, "invalid JWT provided"),
    ])
    func theTokenIsRenewed(status: Int, body: String) {
        let outcome: Outcome = status == 401 ? .webPushUnauthorized : .webPushForbidden
        #expect(verdict(status, body) == Verdict(outcome, .renewCredential))
    }

    @Test func anotherKeyIsNeverEvidenceAndNeverRenewed() {
        let mismatch = mozilla(401, "109", "VAPID public key mismatch")
        #expect(verdict(401, mismatch) == Verdict(.webPushVAPIDKeyMismatch, .callOperator))
    }

    @Test(arguments: [429, 503])
    func retryAfterHoldsForTheSubscriptionAlone(status: Int) {
        let seconds = verdict(status, "", ["retry-after": "120"])
        #expect(seconds.disposition == .retry(Retry(floor: 120 * Micros.second)))
        let date = verdict(status, "", ["retry-after": "Thu, 01 Jan 1970 00:34:20 GMT"])
        #expect(date.disposition == .retry(Retry(floor: 60 * Micros.second)))
    }

    @Test(arguments: Array(stride(from: 100, through: 600, by: 1)))
    func everyStatusIsJudgedWithEveryBody(status: Int) {
        let bodies = [
            "", "{}", "[1]", "\u{0}", "jwt", "domain blocked", apple("VapidPkHashMismatch"), apple("IdleTimeout"),
            apple("Shutdown"), mozilla(status, "108"), mozilla(status, "109"), mozilla(status, "1e99"),
            String(repeating: "x", count: 20_000),
        ]
        for body in bodies {
            let verdict = verdict(status, body)
            expectConsistent(verdict)
            guard case .prune = verdict.disposition else { continue }
            #expect([404, 410].contains(status) || (status == 400 && body.contains("108")))
        }
    }

    @Test func reasonsAreLoggableAndTextsAreNot() {
        let reasons = [apple("BadTtl\\u001b"), mozilla(400, "111"), "https://push.example/secret"]
        #expect(reasons.map { WebPushErrorBody(parsing: Array($0.utf8)).reason } == ["BadTtl", "errno_111", nil])
    }
}
