import FanfareCore
import Testing

/// A device registered at 1,000 s, answered at 2,000 s.
private func context(_ marks: RetryHistory.Marks = [], registeredAt: Microseconds = 1000 * Micros.second)
    -> AttemptContext
{
    AttemptContext(
        history: RetryHistory(marks: marks),
        registeredAt: registeredAt,
        answeredAt: 2000 * Micros.second
    )
}

private func verdict(
    _ status: Int,
    _ reason: String? = nil,
    timestamp: Int64? = nil,
    retryAfter: String? = nil,
    in circumstances: AttemptContext = context()
) -> Verdict {
    let error = APNSErrorBody(reason: reason, timestampMilliseconds: timestamp)
    return APNSAnswer(status: status, error: error, retryAfter: retryAfter).verdict(in: circumstances)
}

private func verdict(_ reason: APNSReason, in circumstances: AttemptContext = context()) -> Verdict {
    verdict(reason.status, reason.rawValue, in: circumstances)
}

struct APNSVerdictTests {
    private static let allMarks = (UInt8(0)...31).map(RetryHistory.Marks.init(rawValue:))

    @Test func `Acceptance is final, and any 2xx is one`() {
        #expect(verdict(200) == .accepted)
        #expect(verdict(202).outcome == .accepted && verdict(202).isUnrecognized)
        #expect(verdict(200, "BadDeviceToken").outcome == .accepted)
    }

    @Test(arguments: APNSReason.allCases)
    func `A documented reason is recognised and its outcome fits what follows`(reason: APNSReason) {
        for marks in Self.allMarks {
            let verdict = verdict(reason, in: context(marks))
            #expect(!verdict.isUnrecognized)
            expectConsistent(verdict)
            if verdict.outcome.kind == .rejected, !marks.contains(.otherEnvironment) {
                #expect(verdict.outcome.reason == reason.rawValue)
            }
        }
    }

    @Test(arguments: [-1, 0, 99, 100, 101, 302, 399, 400, 403, 404, 410, 418, 429, 451, 500, 502, 503, 599, 600, 9999])
    func `Every status is judged with every reason, known or not`(status: Int) {
        let reasons = [nil, "Surprise"] + APNSReason.allCases.map(\.rawValue)
        for reason in reasons {
            for marks in Self.allMarks {
                let verdict = verdict(status, reason, in: context(marks))
                expectConsistent(verdict)
                #expect(verdict.outcome.kind != .accepted)
                let isDocumented = reason.flatMap(APNSReason.init(text:))?.status == status
                #expect(verdict.isUnrecognized == !isDocumented, "\(status) \(reason ?? "-")")
                if case .prune = verdict.disposition { #expect(status == 410 || isDocumented) }
            }
        }
    }

    private func expectConsistent(_ verdict: Verdict) {
        switch verdict.disposition {
        case .final: #expect(verdict.outcome.range.isFinal && verdict.outcome.kind != .gone)
        case .retry, .tryOtherEnvironment, .renewCredential: #expect(verdict.outcome.kind == .retrying)
        case .prune: #expect(verdict.outcome.kind == .gone)
        case .pauseCredential: #expect(verdict.outcome.kind == .rejected)
        }
    }

    @Test(arguments: [
        (404, Outcome.apnsStatus4xx), (302, .apnsStatus3xx), (0, .apnsStatusOther), (700, .apnsStatusOther),
    ])
    func `An unknown reason goes by its status class and is flagged`(status: Int, outcome: Outcome) {
        #expect(verdict(status, "Surprise") == Verdict(outcome, .final, isUnrecognized: true))
    }

    @Test func `An unknown 5xx or 429 is tried again`() {
        #expect(verdict(502) == Verdict(.retryingStatus5xx, .retry(Retry()), isUnrecognized: true))
        let throttled = verdict(429, "Slower")
        #expect(throttled.disposition == .retry(Retry(floor: Micros.minute)) && throttled.isUnrecognized)
    }

    @Test(arguments: [("BadEnvironmentKeyInToken", 403), ("BadEnvironmentKeyIdInToken", 403)])
    func `Both spellings are one reason`(spelling: String, status: Int) {
        let verdict = verdict(status, spelling)
        #expect(verdict.outcome == .apnsBadEnvironmentKeyIdInToken)
        #expect(verdict.disposition == .pauseCredential(.credential) && !verdict.isUnrecognized)
    }

    @Test func `A reason with the wrong status is believed, but never against the token`() {
        #expect(verdict(400, "Unregistered").outcome == .apnsStatus4xx)
        #expect(verdict(503, "BadDeviceToken").outcome == .retryingStatus5xx)
        #expect(verdict(410, "BadDeviceToken") == Verdict(.apnsStatus410, .final, isUnrecognized: true))
        #expect(verdict(410, "TopicDisallowed").disposition == .pauseCredential(.topic))
        #expect(verdict(500, "ExpiredProviderToken").disposition == .renewCredential)
    }
}

struct APNSTokenVerdictTests {
    private func prunes(_ verdict: Verdict) -> PruneEvidence? {
        guard case .prune(let evidence) = verdict.disposition else { return nil }
        return evidence
    }

    @Test(arguments: ["Unregistered", "ExpiredToken"])
    func `410 prunes registrations up to a millisecond after its timestamp`(reason: String) {
        let timestamp: Int64 = 1_500_000
        let upTo = timestamp * 1000 + 1000
        let edge = verdict(410, reason, timestamp: timestamp, in: context(registeredAt: upTo))
        #expect(edge.outcome.kind == .gone && edge.outcome.reason == reason)
        #expect(prunes(edge) == PruneEvidence(strength: .strong, registeredUpTo: upTo))
        let later = verdict(410, reason, timestamp: timestamp, in: context(registeredAt: upTo + 1))
        #expect(later.outcome == .retryingRegisteredLater)
        #expect(later.disposition == .retry(Retry(floor: Micros.minute)))
    }

    @Test func `A registration younger than the evidence is tried once more and then kept`() {
        let again = context(.registeredLater, registeredAt: 1600 * Micros.second)
        #expect(verdict(410, "Unregistered", timestamp: 1_500_000, in: again) == Verdict(.apnsUnregistered, .final))
    }

    @Test func `Without a timestamp the answer's time counts`() {
        let upTo = 2000 * Micros.second + 1000
        #expect(prunes(verdict(410, "Unregistered")) == PruneEvidence(strength: .strong, registeredUpTo: upTo))
        let bare = verdict(410)
        #expect(bare.outcome == .goneAPNSStatus410 && bare.isUnrecognized)
        #expect(prunes(bare)?.registeredUpTo == upTo)
    }

    @Test(arguments: [Int64.max, 9_999_999_999_999])
    func `A timestamp still to come does not reach beyond the answer`(timestamp: Int64) {
        let evidence = prunes(verdict(410, "Unregistered", timestamp: timestamp))
        #expect(evidence?.registeredUpTo == 2000 * Micros.second + 1000)
    }

    @Test func `An impossible timestamp keeps the device`() {
        #expect(verdict(410, "Unregistered", timestamp: .min).outcome == .retryingRegisteredLater)
    }

    @Test func `BadDeviceToken asks the other environment before it is weak evidence`() {
        #expect(verdict(.badDeviceToken) == Verdict(.retryingOtherEnvironment, .tryOtherEnvironment))
        let second = verdict(.badDeviceToken, in: context(.otherEnvironment))
        #expect(second.outcome == .goneAPNSBadDeviceToken)
        #expect(prunes(second) == PruneEvidence(strength: .weak, registeredUpTo: 1000 * Micros.second))
    }

    @Test(arguments: [
        APNSReason.badEnvironmentKeyIdInToken, .invalidProviderToken, .badCertificateEnvironment, .topicDisallowed,
        .forbidden, .missingProviderToken, .missingTopic,
    ])
    func `A credential error in the other environment is no evidence and no alarm`(reason: APNSReason) {
        let verdict = verdict(reason, in: context(.otherEnvironment))
        #expect(verdict == Verdict(.apnsBadDeviceToken, .final))
    }
}

struct APNSSenderVerdictTests {
    @Test(arguments: [APNSReason.expiredProviderToken, .invalidProviderToken])
    func `A stale credential is renewed once, on a new connection`(reason: APNSReason) {
        let first = verdict(reason)
        #expect(first == Verdict(.retryingCredentialRenewed, .renewCredential, replacesConnection: true))
        let second = verdict(reason, in: context(.credentialRenewed))
        #expect(second.disposition == .pauseCredential(.credential))
        #expect(second.outcome == reason.rejection)
    }

    @Test(arguments: [APNSReason.badTopic, .missingTopic, .topicDisallowed])
    func `A topic error pauses the topic, not the credential`(reason: APNSReason) {
        #expect(verdict(reason).disposition == .pauseCredential(.topic))
    }

    @Test func `429 waits a minute, in the scope it speaks of`() {
        #expect(verdict(.tooManyRequests).disposition == .retry(Retry(floor: Micros.minute)))
        let updates = verdict(.tooManyProviderTokenUpdates)
        #expect(updates.disposition == .retry(Retry(floor: Micros.minute, scope: .credential)))
    }

    @Test func `Retry-After raises the floor and never lowers it`() {
        let busy = verdict(503, "ServiceUnavailable", retryAfter: "90")
        #expect(busy.disposition == .retry(Retry(floor: 90 * Micros.second)))
        let device = verdict(429, "TooManyRequests", retryAfter: "5")
        #expect(device.disposition == .retry(Retry(floor: Micros.minute)))
        #expect(verdict(500, "InternalServerError", retryAfter: "junk").disposition == .retry(Retry()))
    }

    @Test(arguments: [APNSReason.shutdown, .idleTimeout, .unrelatedKeyIdInToken])
    func `A used-up connection is replaced`(reason: APNSReason) {
        let verdict = verdict(reason)
        #expect(verdict.replacesConnection && verdict.outcome.kind == .retrying)
        #expect(verdict.health == .neutral)
    }

    @Test func `An unrelated key on a connection of its own is a configuration error`() {
        let verdict = verdict(.unrelatedKeyIdInToken, in: context(.otherConnection))
        #expect(verdict.disposition == .pauseCredential(.credential))
    }

    @Test func `Faults of the provider and lost answers count against it, refusals do not`() {
        #expect(verdict(200).health == .accepted)
        #expect(verdict(.internalServerError).health == .failed && verdict(.serviceUnavailable).health == .failed)
        #expect(verdict(502).health == .failed)
        #expect(verdict(.badDeviceToken).health == .neutral && verdict(.tooManyRequests).health == .neutral)
        #expect(Verdict(fate: .ambiguous, atMostOnce: true).health == .failed)
        #expect(Verdict(fate: .ambiguous, atMostOnce: false).health == .failed)
        #expect(Verdict(fate: .notProcessed, atMostOnce: false).health == .neutral)
    }

    @Test(arguments: UnansweredFate.allCases)
    func `At most once repeats only what certainly was not delivered`(fate: UnansweredFate) {
        let once = Verdict(fate: fate, atMostOnce: true)
        if fate == .ambiguous {
            #expect(once == Verdict(.unknown, .final))
        } else {
            #expect(once == Verdict(fate: fate, atMostOnce: false) && once.outcome.kind == .retrying)
        }
    }

    @Test func `GOAWAY debug data is read like a body`() {
        let debug = APNSErrorBody(parsing: Array(#"{"reason":"BadCertificateEnvironment"}"#.utf8))
        let reason = debug.reason.flatMap(APNSReason.init(text:))
        #expect(reason?.meaning == .badConfiguration(.credential))
    }
}
