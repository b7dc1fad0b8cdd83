public import FanfareCore

extension FCMAnswer {
    /// The wait after 429 without `Retry-After` (Firebase, "Best practices when sending FCM messages at scale").
    static let quotaFloor: Microseconds = Micros.minute
    /// How long after its registration a FID that FCM does not know is kept.
    static let newRegistration: Microseconds = 10 * Micros.minute

    /// Judges the answer, for every status, code and body.
    ///
    /// FCM's own code has precedence over `error.status`, which has precedence over the HTTP status.
    ///
    /// - Parameter context: the circumstances of the attempt.
    /// - Returns: the byte to record and what follows.
    public func verdict(in context: AttemptContext) -> Verdict {
        if (200...299).contains(status) {
            // Any 2xx means that FCM accepted the push; a retry could only duplicate it.
            return Verdict(.accepted, .final, isUnrecognized: status != 200)
        }
        guard (400...599).contains(status) else { return byStatusClass(in: context) }
        if let text = error.errorCode {
            guard let code = FCMErrorCode(text: text), isCredible(code) else { return byStatusClass(in: context) }
            let verdict = verdict(on: code, in: context)
            return code.status ?? status == status ? verdict : verdict.unrecognized
        }
        return verdictWithoutCode(in: context)
    }

    /// Returns whether a code counts: a 5xx answer is no evidence about a token or a message.
    private func isCredible(_ code: FCMErrorCode) -> Bool {
        status < 500 || (code != .unregistered && code != .invalidArgument)
    }

    private func verdict(on code: FCMErrorCode, in context: AttemptContext) -> Verdict {
        switch code {
        case .unregistered where isNew(context): Verdict(.fcmUnregisteredNew, .final)
        case .unregistered: dead(.goneFCMUnregistered, .strong, in: context)
        case .invalidArgument: invalidArgument(in: context)
        case .senderIDMismatch: Verdict(.fcmSenderIDMismatch, .final)
        case .quotaExceeded: quotaExceeded(in: context)
        case .unavailable: unavailable(in: context)
        case .internalError: Verdict(.retryingServerError, .retry(retry(in: context)))
        // FCM accepted the access token; APNs or a browser's push service rejected the credential that Firebase
        // forwards.
        case .thirdPartyAuthError: Verdict(.fcmThirdPartyAuthError, .callOperator)
        case .unspecifiedError where status >= 500: Verdict(.retryingServerError, .retry(retry(in: context)))
        case .unspecifiedError: Verdict(.fcmUnspecifiedError, .final)
        }
    }

    /// Judges a 400: the message is at fault, unless the body names only the token.
    private func invalidArgument(in context: AttemptContext) -> Verdict {
        if error.apnsStatus == 410 { return dead(.goneFCMAPNSUnregistered, .strong, in: context) }
        if error.apnsReason == APNsReason.badDeviceToken.rawValue { return Verdict(.fcmAPNSBadDeviceToken, .final) }
        // FCM also reports the token for some errors in messages.
        if error.namesToken { return dead(.goneFCMInvalidToken, .weak, mayBlameMessage: true, in: context) }
        return Verdict(.fcmInvalidArgument, .final)
    }

    /// Judges an answer without FcmError, which is about the sender and never about the token.
    private func verdictWithoutCode(in context: AttemptContext) -> Verdict {
        switch error.status {
        case "UNAUTHENTICATED": unauthenticated
        case "PERMISSION_DENIED": Verdict(.fcmPermissionDenied, .pause(.credential))
        case "NOT_FOUND": Verdict(.fcmNotFound, .pause(.credential))
        case "INVALID_ARGUMENT": Verdict(.fcmInvalidArgument, .final)
        case "RESOURCE_EXHAUSTED": quotaExceeded(in: context)
        case "UNAVAILABLE": unavailable(in: context)
        case "INTERNAL": Verdict(.retryingServerError, .retry(retry(in: context)))
        default: verdictByStatus(in: context)
        }
    }

    /// Judges an answer whose body has no known content: empty, or the HTML of a load balancer.
    private func verdictByStatus(in context: AttemptContext) -> Verdict {
        switch status {
        case 401: unauthenticated.unrecognized
        case 403: Verdict(.fcmPermissionDenied, .pause(.credential), isUnrecognized: true)
        case 429: quotaExceeded(in: context).unrecognized
        case 500: Verdict(.retryingServerError, .retry(retry(in: context)), isUnrecognized: true)
        case 503: unavailable(in: context).unrecognized
        // FCM's table has no code for these: they come from the infrastructure in front of FCM.
        case 502, 504: Verdict(.retryingStatus5xx, .retry(retry(in: context)))
        // Google sends `error.status` with every error, so this answer comes from a proxy or a wrong endpoint.
        case 400...499 where error.status == nil:
            Verdict(.retryingForeignAnswer, .retry(retry(in: context)), isUnrecognized: true)
        default: byStatusClass(in: context)
        }
    }

    private func byStatusClass(in context: AttemptContext) -> Verdict {
        switch status {
        case 429: quotaExceeded(in: context).unrecognized
        case 500...599: Verdict(.retryingStatus5xx, .retry(retry(in: context)), isUnrecognized: true)
        case 400...499: Verdict(.fcmStatus4xx, .final, isUnrecognized: true)
        case 300...399: Verdict(.fcmStatus3xx, .final, isUnrecognized: true)
        default: Verdict(.fcmStatusOther, .final, isUnrecognized: true)
        }
    }
}

extension FCMAnswer {
    private func dead(
        _ gone: Outcome,
        _ strength: PruneEvidence.Strength,
        mayBlameMessage: Bool = false,
        in context: AttemptContext
    ) -> Verdict {
        // FCM does not say whether the device's token is dead, or that of the activity.
        if context.isForActivity { return Verdict(gone.keepingDevice, .final) }
        // FCM gives no time, so only the registration whose token was read counts as judged.
        let evidence = PruneEvidence(
            strength: strength,
            registeredUpTo: context.registeredAt,
            mayBlameMessage: mayBlameMessage
        )
        return Verdict(gone, .prune(evidence))
    }

    private var unauthenticated: Verdict { Verdict(.fcmUnauthenticated, .renewCredential) }

    private func quotaExceeded(in context: AttemptContext) -> Verdict {
        let scope = error.quotaScope ?? .credential
        let outcome: Outcome =
            switch scope {
            case .device: .retryingDeviceThrottled
            case .topic: .retryingTopicThrottled
            case .credential: .retryingSenderThrottled
            }
        return Verdict(outcome, .retry(retry(unlessAsked: Self.quotaFloor, scope: scope, in: context)))
    }

    /// Returns whether the push went to a FID that registered a moment ago.
    ///
    /// Some versions of Firebase's SDKs report a registration as done that FCM does not know.
    private func isNew(_ context: AttemptContext) -> Bool {
        context.isInstallation
            && context.answeredAt.subtractingClamping(context.registeredAt) < Self.newRegistration
    }

    private func unavailable(in context: AttemptContext) -> Verdict {
        Verdict(.retryingUnavailable, .retry(retry(scope: .credential, in: context)))
    }

    private func retry(
        unlessAsked floor: Microseconds = 0,
        scope: AnswerScope = .device,
        in context: AttemptContext
    ) -> Retry {
        Retry(floor: RetryAfter.wait(retryAfter, now: context.answeredAt) ?? floor, scope: scope)
    }
}

extension Verdict {
    /// The same verdict, marked as one for an answer that the provider does not document.
    var unrecognized: Verdict {
        Verdict(outcome, disposition, isUnrecognized: true, replacesConnection: replacesConnection)
    }
}
