public import FanfareCore

extension APNsAnswer {
    /// The minimum wait after 429, and before the one retry of a push whose device registered after the reported time.
    static let longFloor: Microseconds = Micros.minute
    /// The precision of Apple's timestamps: they are truncated to milliseconds, so a registration within the same
    /// millisecond counts as older.
    static let timestampGrain: Microseconds = Micros.millisecond

    /// Judges the answer, for every status and reason.
    ///
    /// - Parameter context: the circumstances of the attempt.
    /// - Returns: the byte to record and what follows.
    public func verdict(in context: AttemptContext) -> Verdict {
        if (200...299).contains(status) {
            // Any 2xx means that APNs accepted the push; a retry could only duplicate it.
            return Verdict(.accepted, .final, isUnrecognized: status != 200)
        }
        guard let reason = error.reason.flatMap(APNsReason.init(text:)) else { return verdictByStatus(in: context) }
        if reason.status == status {
            return verdict(on: reason, in: context)
        }
        return verdict(onMisplaced: reason, in: context)
    }

    /// Judges a known reason with a status that Apple does not document for it; it counts, but not as evidence against
    /// a token.
    private func verdict(onMisplaced reason: APNsReason, in context: AttemptContext) -> Verdict {
        let isAboutToken = reason.meaning == .deadToken || reason.meaning == .unknownToken
        if isAboutToken && status == 410 {
            return Verdict(.apnsStatus410, .final, isUnrecognized: true)
        }
        if isAboutToken || status < 400 {
            return verdictByStatus(in: context)
        }
        let believed = verdict(on: reason, in: context)
        return Verdict(
            believed.outcome,
            believed.disposition,
            isUnrecognized: true,
            replacesConnection: believed.replacesConnection
        )
    }

    private func verdict(on reason: APNsReason, in context: AttemptContext) -> Verdict {
        let tried = context.history.marks
        switch reason.meaning {
        case .badPush:
            return Verdict(rejection(reason), .final)
        case .badConfiguration(let scope):
            return configurationError(reason, scope: scope, tried: tried)
        case .unknownToken:
            return unknownToken(in: context)
        case .deadToken:
            let gone: Outcome = reason == .expiredToken ? .goneAPNSExpiredToken : .goneAPNSUnregistered
            return deadToken(gone, in: context)
        case .staleCredential:
            return staleCredential(reason, tried: tried)
        case .badConnection:
            return badConnection(reason, tried: tried, context)
        case .throttled(let scope):
            let outcome: Outcome = scope == .device ? .retryingDeviceThrottled : .retryingSenderThrottled
            // Only this delivery waits. APNs still accepts the older token that other connections send: Apple's limit
            // of 20 minutes applies per connection.
            return Verdict(outcome, .retry(retry(floor: Self.longFloor, context)))
        case .serverFault:
            let outcome: Outcome = reason == .serviceUnavailable ? .retryingUnavailable : .retryingServerError
            return Verdict(outcome, .retry(retry(context)))
        }
    }

    private func verdictByStatus(in context: AttemptContext) -> Verdict {
        switch status {
        case 429:
            let retry = retry(floor: Self.longFloor, context)
            return Verdict(.retryingDeviceThrottled, .retry(retry), isUnrecognized: true)
        // Apple sends a reason with every error, so this answer comes from a proxy or a wrong endpoint.
        case 400...499 where error.reason == nil:
            return Verdict(.retryingForeignAnswer, .retry(retry(context)), isUnrecognized: true)
        case 410:
            // Apple's 410 always refers to the token, even with a reason that this version does not know.
            let verdict = deadToken(.goneAPNSStatus410, in: context)
            return Verdict(verdict.outcome, verdict.disposition, isUnrecognized: true)
        case 500...599: return Verdict(.retryingStatus5xx, .retry(retry(context)), isUnrecognized: true)
        case 400...499: return Verdict(.apnsStatus4xx, .final, isUnrecognized: true)
        case 300...399: return Verdict(.apnsStatus3xx, .final, isUnrecognized: true)
        default: return Verdict(.apnsStatusOther, .final, isUnrecognized: true)
        }
    }
}

extension APNsAnswer {
    private func unknownToken(in context: AttemptContext) -> Verdict {
        guard context.history.marks.contains(.otherEnvironment) else {
            return Verdict(.retryingOtherEnvironment, .tryOtherEnvironment(otherwise: .apnsBadDeviceToken))
        }
        if let plannedAt = context.plannedAt, context.registeredAt > plannedAt {
            // The device may have registered in its own environment after that environment was asked about the old
            // token.
            return Verdict(.apnsBadDeviceToken, .final)
        }
        // A registration made after the token was read was not part of this request.
        let evidence = PruneEvidence(
            strength: .weak,
            registeredUpTo: context.registeredAt,
            mayBlameMessage: context.hasOwnTopic
        )
        return Verdict(.goneAPNSBadDeviceToken, .prune(evidence))
    }

    private func deadToken(_ gone: Outcome, in context: AttemptContext) -> Verdict {
        let said = error.timestampMilliseconds.map { $0.multipliedClamping(by: Micros.millisecond) }
        // A timestamp in the future would also prune registrations made after this answer.
        let lastSeenDead = min(said ?? context.answeredAt, context.answeredAt)
        let registeredUpTo = lastSeenDead.addingClamping(Self.timestampGrain)
        if context.registeredAt <= registeredUpTo {
            return Verdict(gone, .prune(PruneEvidence(strength: .strong, registeredUpTo: registeredUpTo)))
        }
        if context.history.marks.contains(.registeredLater) {
            return Verdict(gone.keepingDevice, .final)
        }
        return Verdict(.retryingRegisteredLater, .retry(retry(floor: Self.longFloor, context)))
    }

    private func configurationError(_ reason: APNsReason, scope: AnswerScope, tried: RetryHistory.Marks) -> Verdict {
        if tried.contains(.otherEnvironment) {
            // The other environment was only a guess: a credential that does not serve it is neither an error nor
            // evidence.
            return Verdict(.apnsBadDeviceToken, .final)
        }
        return Verdict(rejection(reason), .pause(scope), replacesConnection: scope == .credential)
    }

    private func staleCredential(_ reason: APNsReason, tried: RetryHistory.Marks) -> Verdict {
        if tried.contains(.otherEnvironment) && reason == .invalidProviderToken {
            return configurationError(reason, scope: .credential, tried: tried)
        }
        // After a connection's token has expired, the connection may reject new tokens too.
        return Verdict(rejection(reason), .renewCredential, replacesConnection: true)
    }

    private func badConnection(
        _ reason: APNsReason,
        tried: RetryHistory.Marks,
        _ context: AttemptContext
    ) -> Verdict {
        switch reason {
        case .unrelatedKeyIdInToken where tried.contains(.otherConnection):
            configurationError(reason, scope: .credential, tried: tried)
        case .unrelatedKeyIdInToken:
            Verdict(.retryingOtherConnection, .retry(Retry(pace: .onceAtOnce)), replacesConnection: true)
        case .shutdown:
            Verdict(.retryingShutdown, .retry(retry(context)), replacesConnection: true)
        default:
            Verdict(.retryingIdleTimeout, .retry(retry(context)), replacesConnection: true)
        }
    }

    private func retry(floor: Microseconds = 0, _ context: AttemptContext) -> Retry {
        Retry(floor: max(floor, RetryAfter.wait(retryAfter, now: context.answeredAt) ?? 0))
    }

    private func rejection(_ reason: APNsReason) -> Outcome {
        reason.rejection ?? .apnsStatus4xx
    }
}
