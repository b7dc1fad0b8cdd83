import FanfareCore
import Testing

@testable import FanfareProviders

/// A device registered at 1,000 s, answered at 2,000 s.
func context(
    _ marks: RetryHistory.Marks = [],
    registeredAt: Microseconds = 1000 * Micros.second,
    plannedAt: Microseconds? = nil
) -> AttemptContext {
    AttemptContext(
        history: RetryHistory(marks: marks),
        registeredAt: registeredAt,
        answeredAt: 2000 * Micros.second,
        plannedAt: plannedAt
    )
}

extension RetryHistory.Marks {
    /// Everything that can have been tried before.
    static let combinations = (UInt8(0)...31).map(RetryHistory.Marks.init(rawValue:))
}

/// What follows must be possible for what is recorded.
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

/// Evidence against the registration that was judged, and against no later one.
func evidence(_ strength: PruneEvidence.Strength) -> Disposition {
    .prune(PruneEvidence(strength: strength, registeredUpTo: 1000 * Micros.second))
}
