import FanfareCore
import Testing

@testable import FanfareProviders

private func verdict(
    _ status: Int,
    _ reason: String? = nil,
    timestamp: Int64? = nil,
    retryAfter: String? = nil,
    in circumstances: AttemptContext = context()
) -> Verdict {
    let error = APNsErrorBody(reason: reason, timestampMilliseconds: timestamp)
    return APNsAnswer(status: status, error: error, retryAfter: retryAfter).verdict(in: circumstances)
}

private func verdict(_ reason: APNsReason, in circumstances: AttemptContext = context()) -> Verdict {
    verdict(reason.status, reason.rawValue, in: circumstances)
}

struct APNsVerdictTests {
    @Test func acceptanceIsFinalAndAny2xxIsOne() {
        #expect(verdict(200) == .accepted)
        #expect(verdict(202).outcome == .accepted && verdict(202).isUnrecognized)
        #expect(verdict(200, "BadDeviceToken").outcome == .accepted)
    }

    @Test(arguments: APNsReason.allCases)
    func documentedReasonsAreRecognised(reason: APNsReason) {
        for marks in RetryHistory.Marks.combinations {
            let verdict = verdict(reason, in: context(marks))
            #expect(!verdict.isUnrecognized)
            expectConsistent(verdict)
            if verdict.outcome.kind == .rejected, !marks.contains(.otherEnvironment) {
                #expect(verdict.outcome.reason == reason.rawValue)
            }
        }
    }

    @Test(arguments: [-1, 0, 99, 100, 101, 302, 399, 400, 403, 404, 410, 418, 429, 451, 500, 502, 503, 599, 600, 9999])
    func everyStatusIsJudgedWithEveryReasonKnownOrNot(status: Int) {
        let reasons = [nil, "Surprise"] + APNsReason.allCases.map(\.rawValue)
        for reason in reasons {
            for marks in RetryHistory.Marks.combinations {
                let verdict = verdict(status, reason, in: context(marks))
                expectConsistent(verdict)
                #expect(verdict.outcome.kind != .accepted)
                let isDocumented = reason.flatMap(APNsReason.init(text:))?.status == status
                #expect(verdict.isUnrecognized == !isDocumented, "\(status) \(reason ?? "-")")
                if case .prune = verdict.disposition { #expect(status == 410 || isDocumented) }
            }
        }
    }

    @Test(arguments: [
        (404, Outcome.apnsStatus4xx), (302, .apnsStatus3xx), (0, .apnsStatusOther), (700, .apnsStatusOther),
    ])
    func unknownReasonGoesByItsStatusClass(status: Int, outcome: Outcome) {
        #expect(verdict(status, "Surprise") == Verdict(outcome, .final, isUnrecognized: true))
    }

    @Test(arguments: [400, 403, 404, 410, 413])
    func anAnswerWithoutAppleBodyIsTheProvidersFailureAndNoEvidence(status: Int) {
        for body in ["", "<html>gone fishing</html>", "{}", "[]", #"{"error":"gone"}"#, #"{"reason":410}"#] {
            let verdict = APNsAnswer(status: status, body: Array(body.utf8)).verdict(in: context())
            #expect(verdict == Verdict(.retryingForeignAnswer, .retry(Retry()), isUnrecognized: true), "\(body)")
            #expect(verdict.health == .failed)
        }
    }

    @Test func anUnknown5xxOr429IsTriedAgain() {
        #expect(verdict(502) == Verdict(.retryingStatus5xx, .retry(Retry()), isUnrecognized: true))
        let throttled = verdict(429, "Slower")
        #expect(throttled.disposition == .retry(Retry(floor: Micros.minute)) && throttled.isUnrecognized)
    }

    @Test(arguments: [("BadEnvironmentKeyInToken", 403), ("BadEnvironmentKeyIdInToken", 403)])
    func bothSpellingsAreOneReason(spelling: String, status: Int) {
        let verdict = verdict(status, spelling)
        #expect(verdict.outcome == APNsReason.badEnvironmentKeyIdInToken.rejection)
        #expect(verdict.disposition == .pause(.credential) && !verdict.isUnrecognized)
    }

    @Test func misplacedReasonIsNoEvidenceAgainstTheToken() {
        #expect(verdict(400, "Unregistered").outcome == .apnsStatus4xx)
        #expect(verdict(503, "BadDeviceToken").outcome == .retryingStatus5xx)
        #expect(verdict(410, "BadDeviceToken") == Verdict(.apnsStatus410, .final, isUnrecognized: true))
        #expect(verdict(410, "TopicDisallowed").disposition == .pause(.topic))
        #expect(verdict(500, "ExpiredProviderToken").disposition == .renewCredential)
    }
}

struct APNsTokenVerdictTests {
    private func prunes(_ verdict: Verdict) -> PruneEvidence? {
        guard case .prune(let evidence) = verdict.disposition else { return nil }
        return evidence
    }

    @Test(arguments: ["Unregistered", "ExpiredToken"])
    func prunesUpToAMillisecondAfterTheTimestamp(reason: String) {
        let timestamp: Int64 = 1_500_000
        let upTo = timestamp * 1000 + 1000
        let edge = verdict(410, reason, timestamp: timestamp, in: context(registeredAt: upTo))
        #expect(edge.outcome.kind == .gone && edge.outcome.reason == reason)
        #expect(prunes(edge) == PruneEvidence(strength: .strong, registeredUpTo: upTo))
        let later = verdict(410, reason, timestamp: timestamp, in: context(registeredAt: upTo + 1))
        #expect(later.outcome == .retryingRegisteredLater)
        #expect(later.disposition == .retry(Retry(floor: Micros.minute)))
    }

    @Test func youngerRegistrationIsTriedOnceMoreThenKept() throws {
        let kept = try #require(APNsReason.unregistered.rejection)
        let again = context(.registeredLater, registeredAt: 1600 * Micros.second)
        #expect(verdict(410, "Unregistered", timestamp: 1_500_000, in: again) == Verdict(kept, .final))
    }

    @Test func withoutATimestampTheAnswersTimeCounts() {
        let upTo = 2000 * Micros.second + 1000
        #expect(prunes(verdict(410, "Unregistered")) == PruneEvidence(strength: .strong, registeredUpTo: upTo))
        let unknown = verdict(410, "Surprise")
        #expect(unknown.outcome == .goneAPNSStatus410 && unknown.isUnrecognized)
        #expect(prunes(unknown)?.registeredUpTo == upTo)
    }

    @Test(arguments: [Int64.max, 9_999_999_999_999])
    func futureTimestampDoesNotReachBeyondTheAnswer(timestamp: Int64) {
        let evidence = prunes(verdict(410, "Unregistered", timestamp: timestamp))
        #expect(evidence?.registeredUpTo == 2000 * Micros.second + 1000)
    }

    @Test func anImpossibleTimestampKeepsTheDevice() {
        #expect(verdict(410, "Unregistered", timestamp: .min).outcome == .retryingRegisteredLater)
    }

    @Test func badDeviceTokenTriesTheOtherEnvironmentFirst() {
        #expect(
            verdict(.badDeviceToken)
                == Verdict(.retryingOtherEnvironment, .tryOtherEnvironment(otherwise: .apnsBadDeviceToken))
        )
        let second = verdict(.badDeviceToken, in: context(.otherEnvironment))
        #expect(second.outcome == .goneAPNSBadDeviceToken)
        #expect(prunes(second) == PruneEvidence(strength: .weak, registeredUpTo: 1000 * Micros.second))
    }

    @Test func aTokenRegisteredAfterThePlanWasNotTriedAtHome() {
        let planned = 1000 * Micros.second
        for marks in [[.otherEnvironment], [.otherEnvironment, .registeredLater]] as [RetryHistory.Marks] {
            let rotated = context(marks, registeredAt: planned + 1, plannedAt: planned)
            #expect(verdict(.badDeviceToken, in: rotated) == Verdict(.apnsBadDeviceToken, .final))
            let same = context(marks, registeredAt: planned, plannedAt: planned)
            #expect(verdict(.badDeviceToken, in: same).outcome == .goneAPNSBadDeviceToken)
        }
        let first = context(registeredAt: planned + 1, plannedAt: planned)
        #expect(verdict(.badDeviceToken, in: first).disposition == .tryOtherEnvironment(otherwise: .apnsBadDeviceToken))
    }

    @Test(arguments: [
        APNsReason.badEnvironmentKeyIdInToken, .invalidProviderToken, .badCertificateEnvironment, .topicDisallowed,
        .forbidden, .missingProviderToken, .missingTopic,
    ])
    func credentialErrorInTheOtherEnvironmentIsNoEvidence(reason: APNsReason) {
        let verdict = verdict(reason, in: context(.otherEnvironment))
        #expect(verdict == Verdict(.apnsBadDeviceToken, .final))
    }
}

struct APNsSenderVerdictTests {
    @Test(arguments: [APNsReason.expiredProviderToken, .invalidProviderToken])
    func staleCredentialIsRenewed(reason: APNsReason) throws {
        let outcome = try #require(reason.rejection)
        #expect(verdict(reason) == Verdict(outcome, .renewCredential, replacesConnection: true))
    }

    @Test(arguments: [APNsReason.badTopic, .missingTopic, .topicDisallowed])
    func aTopicErrorPausesTheTopicNotTheCredential(reason: APNsReason) {
        #expect(verdict(reason).disposition == .pause(.topic))
    }

    @Test(arguments: [APNsReason.tooManyRequests, .tooManyProviderTokenUpdates])
    func status429WaitsAMinuteAndNobodyElseWaits(reason: APNsReason) {
        #expect(verdict(reason).disposition == .retry(Retry(floor: Micros.minute)))
    }

    @Test func retryAfterRaisesTheFloorAndNeverLowersIt() {
        let busy = verdict(503, "ServiceUnavailable", retryAfter: "90")
        #expect(busy.disposition == .retry(Retry(floor: 90 * Micros.second)))
        let device = verdict(429, "TooManyRequests", retryAfter: "5")
        #expect(device.disposition == .retry(Retry(floor: Micros.minute)))
        #expect(verdict(500, "InternalServerError", retryAfter: "junk").disposition == .retry(Retry()))
    }

    @Test(arguments: [APNsReason.shutdown, .idleTimeout, .unrelatedKeyIdInToken])
    func aUsedUpConnectionIsReplaced(reason: APNsReason) {
        let verdict = verdict(reason)
        #expect(verdict.replacesConnection && verdict.outcome.kind == .retrying)
        #expect(verdict.health == .neutral)
    }

    @Test func unrelatedKeyOnItsOwnConnectionPauses() {
        let verdict = verdict(.unrelatedKeyIdInToken, in: context(.otherConnection))
        #expect(verdict.disposition == .pause(.credential))
    }

    @Test func healthTellsFaultsFromRefusals() {
        #expect(verdict(200).health == .accepted)
        #expect(verdict(.internalServerError).health == .failed && verdict(.serviceUnavailable).health == .failed)
        #expect(verdict(502).health == .failed)
        #expect(verdict(.badDeviceToken).health == .neutral && verdict(.tooManyRequests).health == .throttled)
        #expect(Verdict(fate: .ambiguous, atMostOnce: true).health == .failed)
        #expect(Verdict(fate: .ambiguous, atMostOnce: false).health == .failed)
        #expect(Verdict(fate: .notProcessed, atMostOnce: false).health == .neutral)
    }

    @Test(arguments: UnansweredFate.allCases)
    func atMostOnceNeverRepeatsTheAmbiguous(fate: UnansweredFate) {
        let once = Verdict(fate: fate, atMostOnce: true)
        switch fate {
        case .ambiguous: #expect(once == Verdict(.unknown, .final))
        case .forbidden: #expect(once == Verdict(.destinationForbidden, .final))
        case .notSent, .notProcessed:
            #expect(once == Verdict(fate: fate, atMostOnce: false) && once.outcome.kind == .retrying)
        }
    }

    @Test func goawayDebugDataIsReadLikeABody() {
        let debug = APNsErrorBody(parsing: Array(#"{"reason":"BadCertificateEnvironment"}"#.utf8))
        let reason = debug.reason.flatMap(APNsReason.init(text:))
        #expect(reason?.meaning == .badConfiguration(.credential))
    }
}
