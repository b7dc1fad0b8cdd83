internal import FanfareCore

/// The parts of a webhook's response that decide how a delivery continues: the status, and the wait.
struct WebhookAnswer: Equatable {
    /// The wait after 429 without `Retry-After`.
    static let throttleFloor: Microseconds = Micros.minute

    /// The HTTP status.
    let status: Int
    /// The value of the `Retry-After` field.
    var retryAfter: String?

    /// Judges the answer, for every status (Standard Webhooks 1.0.0, "Operational considerations").
    ///
    /// The answer is about this endpoint only; other deliveries continue.
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
        // A webhook ends its subscription with this status.
        case 410:
            Verdict(
                .goneWebhook,
                .prune(PruneEvidence(strength: .strong, registeredUpTo: context.registeredAt))
            )
        case 413: Verdict(.webhookPayloadTooLarge, .final)
        case 429: again(.retryingDeviceThrottled, after: Self.throttleFloor, in: context)
        // The receiver timed out waiting for the request, or refuses early data.
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
