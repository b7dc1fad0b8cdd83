internal import FanfareCore

/// The outcomes of Web Push that code refers to by name; the rows of ``OutcomeBlock/webPush`` say what they mean.
extension Outcome {
    static var goneWebPushNotFound: Outcome { Outcome(rawValue: 80) }
    static var goneWebPushGone: Outcome { Outcome(rawValue: 81) }
    static var goneWebPushInvalidSubscription: Outcome { Outcome(rawValue: 82) }
    static var webPushStatus4xx: Outcome { Outcome(rawValue: 192) }
    static var webPushStatus3xx: Outcome { Outcome(rawValue: 193) }
    static var webPushStatusOther: Outcome { Outcome(rawValue: 194) }
    static var webPushBadRequest: Outcome { Outcome(rawValue: 196) }
    static var webPushUnauthorized: Outcome { Outcome(rawValue: 197) }
    static var webPushForbidden: Outcome { Outcome(rawValue: 198) }
    static var webPushMethodNotAllowed: Outcome { Outcome(rawValue: 201) }
    static var webPushPayloadTooLarge: Outcome { Outcome(rawValue: 202) }
    static var webPushVAPIDKeyMismatch: Outcome { Outcome(rawValue: 203) }
    static var webPushDomainBlocked: Outcome { Outcome(rawValue: 204) }
    static var webPushDropped: Outcome { Outcome(rawValue: 205) }
}

extension OutcomeBlock {
    /// The outcomes of Web Push: 80–87 gone; 192–195 rejected by status class, from 196 by reason.
    static let webPush = OutcomeBlock(
        codes: [80...87, 192...231],
        rows: [
            OutcomeRow(
                .goneWebPushNotFound,
                "not_found",
                "The subscription is unknown or expired; the device is disabled."
            ),
            OutcomeRow(.goneWebPushGone, "gone", "The subscription was ended; the device is disabled."),
            OutcomeRow(
                .goneWebPushInvalidSubscription,
                "invalid_subscription",
                "The subscription's endpoint or keys are damaged; the device is disabled."
            ),
            OutcomeRow(.webPushStatus4xx, "status_4xx", "A 4xx status without a known meaning."),
            OutcomeRow(.webPushStatus3xx, "status_3xx", "A redirect; Fanfare follows none."),
            OutcomeRow(.webPushStatusOther, "status_other", "A status outside 200 to 599."),
            OutcomeRow(.webPushBadRequest, "bad_request", "A header or the body is wrong."),
            OutcomeRow(.webPushUnauthorized, "unauthorized", "The VAPID token was refused, also after it was renewed."),
            OutcomeRow(.webPushForbidden, "forbidden", "The VAPID credential was refused."),
            OutcomeRow(199, "not_found", "The subscription is unknown; the pruning breaker keeps the device."),
            OutcomeRow(200, "gone", "The subscription was ended; the pruning breaker keeps the device."),
            OutcomeRow(.webPushMethodNotAllowed, "method_not_allowed", "The method is not POST."),
            OutcomeRow(.webPushPayloadTooLarge, "payload_too_large", "The body is over the service's limit."),
            OutcomeRow(
                .webPushVAPIDKeyMismatch,
                "vapid_key_mismatch",
                "The subscription belongs to another VAPID key. The device is kept: a wrong configuration has the same response."
            ),
            OutcomeRow(.webPushDomainBlocked, "domain_blocked", "The service blocks this sender's domain."),
            OutcomeRow(
                .webPushDropped,
                "dropped",
                "The service accepted the request, but says that the push will not be shown."
            ),
            OutcomeRow(
                206,
                "invalid_subscription",
                "The subscription's endpoint or keys are damaged; the pruning breaker keeps the device."
            ),
        ]
    )
}
