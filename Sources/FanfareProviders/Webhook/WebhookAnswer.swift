internal import FanfareCore

/// An answer of a webhook, as far as it matters for what follows: the status alone, and how long to wait.
struct WebhookAnswer: Equatable {
    /// The wait after 429 without `Retry-After`.
    static let throttleFloor: Microseconds = Micros.minute

    /// The HTTP status.
    let status: Int
    /// The value of the field `Retry-After`.
    var retryAfter: String?

    /// Judges the answer; total over every status (Standard Webhooks 1.0.0, "Operational considerations").
    ///
    /// An endpoint's answer is about that endpoint: it stops nobody else.
    ///
    /// - Parameter context: the circumstances of the attempt.
    /// - Returns: the byte to record and what follows.
    func verdict(in context: AttemptContext) -> Verdict {
        switch status {
        case 200...299: Verdict(.accepted, .final)
        case 300...399: Verdict(.webhookStatus3xx, .final)
        case 400: Verdict(.webhookBadRequest, .final)
        case 401: Verdict(.webhookUnauthorized, .final)
        case 403: Verdict(.webhookForbidden, .final)
        case 404: Verdict(.webhookNotFound, .final)
        case 405: Verdict(.webhookMethodNotAllowed, .final)
        // The one way to end a webhook from its own side.
        case 410:
            Verdict(
                .goneWebhook,
                .prune(PruneEvidence(strength: .strong, registeredUpTo: context.registeredAt))
            )
        case 413: Verdict(.webhookPayloadTooLarge, .final)
        case 429: again(.retryingDeviceThrottled, after: Self.throttleFloor, in: context)
        // It waited for the request longer than it would, or does not want it so early.
        case 408, 425: again(.retryingUnavailable, in: context)
        case 400...499: Verdict(.webhookStatus4xx, .final, isUnrecognized: true)
        case 500: again(.retryingServerError, in: context)
        case 503: again(.retryingUnavailable, in: context)
        case 502, 504: again(.retryingStatus5xx, in: context)
        case 500...599:
            Verdict(.retryingStatus5xx, .retry(wait(after: 0, in: context)), isUnrecognized: true)
        default: Verdict(.webhookStatusOther, .final, isUnrecognized: true)
        }
    }

    private func again(
        _ outcome: Outcome,
        after floor: Microseconds = 0,
        in context: AttemptContext
    ) -> Verdict {
        Verdict(outcome, .retry(wait(after: floor, in: context)))
    }

    private func wait(after floor: Microseconds, in context: AttemptContext) -> Retry {
        Retry(floor: RetryAfter.wait(retryAfter, now: context.answeredAt) ?? floor, scope: .device)
    }
}
