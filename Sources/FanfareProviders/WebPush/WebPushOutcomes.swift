package import FanfareCore

extension Outcome {
    /// Web Push 404: the subscription is unknown or expired.
    package static var goneWebPushNotFound: Outcome { Outcome(rawValue: 80) }
    /// Web Push 410: the subscription has ended.
    package static var goneWebPushGone: Outcome { Outcome(rawValue: 81) }
    /// Web Push 400: the endpoint itself is malformed (Mozilla errno 108).
    package static var goneWebPushInvalidSubscription: Outcome { Outcome(rawValue: 82) }
    /// Web Push: a 4xx status that is not in the table.
    package static var webPushStatus4xx: Outcome { Outcome(rawValue: 192) }
    /// Web Push: a 3xx status; redirects are not followed.
    package static var webPushStatus3xx: Outcome { Outcome(rawValue: 193) }
    /// Web Push: a status outside 200–599.
    package static var webPushStatusOther: Outcome { Outcome(rawValue: 194) }
    /// Web Push 400: a header or the body is wrong.
    package static var webPushBadRequest: Outcome { Outcome(rawValue: 196) }
    /// Web Push 401: VAPID token refused, even after a renewal.
    package static var webPushUnauthorized: Outcome { Outcome(rawValue: 197) }
    /// Web Push 403: VAPID credential refused.
    package static var webPushForbidden: Outcome { Outcome(rawValue: 198) }
    /// Web Push 404, kept because the prune fuse is blown.
    package static var webPushNotFound: Outcome { Outcome(rawValue: 199) }
    /// Web Push 410, kept because the prune fuse is blown.
    package static var webPushGone: Outcome { Outcome(rawValue: 200) }
    /// Web Push 405: not POST.
    package static var webPushMethodNotAllowed: Outcome { Outcome(rawValue: 201) }
    /// Web Push 413: body over the service's limit.
    package static var webPushPayloadTooLarge: Outcome { Outcome(rawValue: 202) }
    /// Web Push: the subscription was made with another VAPID key; kept, because a wrong key in the configuration gives
    /// the same answer.
    package static var webPushVAPIDKeyMismatch: Outcome { Outcome(rawValue: 203) }
    /// Web Push 410 of WNS: the sender's domain is blocked.
    package static var webPushDomainBlocked: Outcome { Outcome(rawValue: 204) }
    /// Web Push 2xx of WNS with a status field that reports that nothing will be shown.
    package static var webPushDropped: Outcome { Outcome(rawValue: 205) }
    /// As ``goneWebPushInvalidSubscription``, kept because the prune fuse is blown.
    package static var webPushInvalidSubscription: Outcome { Outcome(rawValue: 206) }
}

extension OutcomeBlock {
    /// The outcomes of Web Push: 80–87 gone; 192–195 rejected by status class, from 196 by reason.
    static let webPush = OutcomeBlock(
        codes: [80...87, 192...231],
        rows: [
            OutcomeRow(
                .goneWebPushNotFound,
                "not_found",
                keptAs: .webPushNotFound,
                "The subscription is unknown or expired; the device is disabled."
            ),
            OutcomeRow(
                .goneWebPushGone,
                "gone",
                keptAs: .webPushGone,
                "The subscription was ended; the device is disabled."
            ),
            OutcomeRow(
                .goneWebPushInvalidSubscription,
                "invalid_subscription",
                keptAs: .webPushInvalidSubscription,
                "The subscription's endpoint or keys are damaged; the device is disabled."
            ),
            OutcomeRow(.webPushStatus4xx, "status_4xx", "A 4xx status without a known meaning."),
            OutcomeRow(.webPushStatus3xx, "status_3xx", "A redirect; Fanfare follows none."),
            OutcomeRow(.webPushStatusOther, "status_other", "A status outside 200 to 599."),
            OutcomeRow(.webPushBadRequest, "bad_request", "A header or the body is wrong."),
            OutcomeRow(.webPushUnauthorized, "unauthorized", "The VAPID token was refused, also after it was renewed."),
            OutcomeRow(.webPushForbidden, "forbidden", "The VAPID credential was refused."),
            OutcomeRow(
                .webPushNotFound,
                "not_found",
                "The subscription is unknown; the pruning breaker keeps the device."
            ),
            OutcomeRow(.webPushGone, "gone", "The subscription was ended; the pruning breaker keeps the device."),
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
                .webPushInvalidSubscription,
                "invalid_subscription",
                "The subscription's endpoint or keys are damaged; the pruning breaker keeps the device."
            ),
        ]
    )
}
