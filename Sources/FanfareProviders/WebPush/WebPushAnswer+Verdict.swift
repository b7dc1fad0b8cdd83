public import FanfareCore

extension WebPushAnswer {
    /// The wait after 429 without `Retry-After`.
    static let throttleFloor: Microseconds = Micros.minute

    /// Judges the answer, for every status and body.
    ///
    /// The status decides (RFC 8030), and the body only where the status is ambiguous. Services are distinguished by
    /// their answers, not by their host names.
    ///
    /// - Parameter context: the circumstances of the attempt.
    /// - Returns: the byte to record and what follows.
    public func verdict(in context: AttemptContext) -> Verdict {
        switch status {
        case 200...299: taken(in: context)
        case 400: badRequest(in: context)
        case 401: unauthorized
        case 403: forbidden
        case 404: dead(.goneWebPushNotFound, .strong, in: context)
        case 405: Verdict(.webPushMethodNotAllowed, .final)
        // WNS throttles an app server with 406.
        case 406: throttled(.retryingSenderThrottled, .credential, in: context)
        // Pushes to this subscription came too fast (RFC 8030 section 8.4).
        case 429: throttled(.retryingDeviceThrottled, .device, in: context)
        case 410 where isDomainBlocked: Verdict(.webPushDomainBlocked, .callOperator)
        case 410: dead(.goneWebPushGone, .strong, in: context)
        case 413: Verdict(.webPushPayloadTooLarge, .callOperator)
        case 500: Verdict(.retryingServerError, .retry(retry(in: context)))
        case 503: unavailable(in: context)
        case 502, 504: Verdict(.retryingStatus5xx, .retry(retry(in: context)))
        default: byStatusClass(in: context)
        }
    }

    private func byStatusClass(in context: AttemptContext) -> Verdict {
        switch status {
        case 500...599: Verdict(.retryingStatus5xx, .retry(retry(in: context)), isUnrecognized: true)
        case 400...499: Verdict(.webPushStatus4xx, .final, isUnrecognized: true)
        // A moved endpoint is a matter for the browser; redirects are never followed.
        case 300...399: Verdict(.webPushStatus3xx, .callOperator)
        default: Verdict(.webPushStatusOther, .final, isUnrecognized: true)
        }
    }

    /// Judges a 2xx: accepted, unless WNS reports in a header that nothing will be shown.
    private func taken(in context: AttemptContext) -> Verdict {
        switch windowsStatus?.lowercased() {
        case "channelthrottled": return throttled(.retryingDeviceThrottled, .device, in: context)
        case "dropped": return Verdict(.webPushDropped, .final)
        default: break
        }
        return Verdict(.accepted, .final, isUnrecognized: ![200, 201, 202, 204].contains(status))
    }

    private func badRequest(in context: AttemptContext) -> Verdict {
        switch error.complaint {
        case .keyMismatch: keyMismatch
        case .subscription: dead(.goneWebPushInvalidSubscription, .weak, in: context)
        case .idle:
            Verdict(.retryingIdleTimeout, .retry(retry(in: context)), replacesConnection: true)
        case .token, .credential, .shutdown, .blocked, nil: Verdict(.webPushBadRequest, .final)
        }
    }

    private var unauthorized: Verdict {
        error.complaint == .keyMismatch ? keyMismatch : Verdict(.webPushUnauthorized, .renewCredential)
    }

    /// Judges a 403; without a known text it may be the key mismatch of one subscription, so other deliveries continue.
    private var forbidden: Verdict {
        switch error.complaint {
        case .keyMismatch: keyMismatch
        case .token: Verdict(.webPushForbidden, .renewCredential)
        case .credential: Verdict(.webPushForbidden, .pause(.credential))
        case .subscription, .idle, .shutdown, .blocked, nil: Verdict(.webPushForbidden, .callOperator)
        }
    }

    private func unavailable(in context: AttemptContext) -> Verdict {
        if error.complaint == .shutdown {
            return Verdict(.retryingShutdown, .retry(retry(in: context)), replacesConnection: true)
        }
        return Verdict(.retryingUnavailable, .retry(retry(in: context)))
    }

    /// Whether WNS has banned the sender, which looks like the end of every subscription.
    private var isDomainBlocked: Bool {
        error.complaint == .blocked || (windowsError?.mentions("domain blocked") ?? false)
    }

    /// The verdict for a key mismatch; never evidence against the device, because with a wrong key every subscription
    /// fails so.
    private var keyMismatch: Verdict { Verdict(.webPushVAPIDKeyMismatch, .callOperator) }

    private func dead(_ gone: Outcome, _ strength: PruneEvidence.Strength, in context: AttemptContext) -> Verdict {
        // The answer has no time, so only the registration whose endpoint was read counts as judged.
        Verdict(gone, .prune(PruneEvidence(strength: strength, registeredUpTo: context.registeredAt)))
    }

    private func throttled(_ outcome: Outcome, _ scope: AnswerScope, in context: AttemptContext) -> Verdict {
        Verdict(outcome, .retry(retry(unlessAsked: Self.throttleFloor, scope: scope, in: context)))
    }

    private func retry(
        unlessAsked floor: Microseconds = 0,
        scope: AnswerScope = .device,
        in context: AttemptContext
    ) -> Retry {
        Retry(floor: RetryAfter.wait(retryAfter, now: context.answeredAt) ?? floor, scope: scope)
    }
}
