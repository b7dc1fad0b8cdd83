internal import FanfareCore

/// The outcomes of webhooks that code refers to by name; the rows of ``OutcomeBlock/webhook`` say what they mean.
extension Outcome {
    static var goneWebhook: Outcome { Outcome(rawValue: 88) }
    static var goneWebhookInvalidEndpoint: Outcome { Outcome(rawValue: 89) }
    static var webhookStatus4xx: Outcome { Outcome(rawValue: 232) }
    static var webhookStatus3xx: Outcome { Outcome(rawValue: 233) }
    static var webhookStatusOther: Outcome { Outcome(rawValue: 234) }
    static var webhookBadRequest: Outcome { Outcome(rawValue: 236) }
    static var webhookUnauthorized: Outcome { Outcome(rawValue: 237) }
    static var webhookForbidden: Outcome { Outcome(rawValue: 238) }
    static var webhookNotFound: Outcome { Outcome(rawValue: 239) }
    static var webhookMethodNotAllowed: Outcome { Outcome(rawValue: 241) }
    static var webhookPayloadTooLarge: Outcome { Outcome(rawValue: 242) }
}

extension OutcomeBlock {
    /// The outcomes of webhooks: 88–95 gone; 232–235 rejected by status class, from 236 by status.
    static let webhook = OutcomeBlock(
        codes: [88...95, 232...255],
        rows: [
            OutcomeRow(.goneWebhook, "gone", "The webhook answered 410; the device is disabled."),
            OutcomeRow(
                .goneWebhookInvalidEndpoint,
                "invalid_endpoint",
                "The device has no usable URL or no usable signing secret; the device is disabled."
            ),
            OutcomeRow(.webhookStatus4xx, "status_4xx", "A 4xx status without a known meaning."),
            OutcomeRow(.webhookStatus3xx, "status_3xx", "A redirect; Fanfare follows none."),
            OutcomeRow(.webhookStatusOther, "status_other", "A status outside 200 to 599."),
            OutcomeRow(.webhookBadRequest, "bad_request", "The webhook does not accept the body."),
            OutcomeRow(.webhookUnauthorized, "unauthorized", "The webhook refused the signature, or requires a login."),
            OutcomeRow(.webhookForbidden, "forbidden", "The webhook, or a proxy in front of it, denies access."),
            OutcomeRow(
                .webhookNotFound,
                "not_found",
                "Nothing is at the webhook's URL; the device is kept, because a webhook may also answer 404 while it is being deployed."
            ),
            OutcomeRow(240, "gone", "The webhook answered 410; the pruning breaker keeps the device."),
            OutcomeRow(.webhookMethodNotAllowed, "method_not_allowed", "The webhook does not accept POST."),
            OutcomeRow(.webhookPayloadTooLarge, "payload_too_large", "The body is over the webhook's limit."),
            OutcomeRow(
                243,
                "invalid_endpoint",
                "The device has no usable URL or no usable signing secret; the pruning breaker keeps the device."
            ),
        ]
    )
}
