import FanfareCore
import Testing

@testable import FanfareProviders

/// Returns the context of a device that was registered at 1,000 s and answered at 2,000 s.
func context(
    _ marks: RetryHistory.Marks = [],
    registeredAt: Microseconds = 1000 * Micros.second,
    plannedAt: Microseconds? = nil,
    isInstallation: Bool = false,
    isForActivity: Bool = false
) -> AttemptContext {
    AttemptContext(
        history: RetryHistory(marks: marks),
        registeredAt: registeredAt,
        answeredAt: 2000 * Micros.second,
        plannedAt: plannedAt,
        isInstallation: isInstallation,
        isForActivity: isForActivity
    )
}

extension RetryHistory.Marks {
    /// All combinations of earlier attempts.
    static let combinations = (UInt8(0)...31).map(RetryHistory.Marks.init(rawValue:))
}

/// Expects a follow-up that is allowed for the recorded outcome.
func expectConsistent(_ verdict: Verdict, sourceLocation: SourceLocation = #_sourceLocation) {
    let outcome = verdict.outcome
    switch verdict.disposition {
    case .final: #expect(outcome.range.isFinal && outcome.kind != .gone, sourceLocation: sourceLocation)
    case .retry, .tryOtherEnvironment: #expect(outcome.kind == .retrying, sourceLocation: sourceLocation)
    case .prune: #expect(outcome.kind == .gone, sourceLocation: sourceLocation)
    case .pause, .renewCredential, .callOperator:
        #expect(outcome.kind == .rejected, sourceLocation: sourceLocation)
    }
}

/// Returns evidence against the registration that was used, and against no later one.
func evidence(_ strength: PruneEvidence.Strength) -> Disposition {
    .prune(PruneEvidence(strength: strength, registeredUpTo: 1000 * Micros.second))
}
