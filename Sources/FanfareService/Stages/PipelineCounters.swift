internal import FanfareCore
internal import FanfareStore
internal import PostgresClient
internal import Threading

/// How many of what should not be an audit found.
struct AuditFigure: Equatable, Sendable {
    let found: Int64
    /// Since when the oldest waits, by database time.
    let oldest: Timestamp?
}

/// What the pipeline did since it began; shown by `fanfare status`.
final class PipelineCounters: Sendable {
    /// The counts at one moment.
    struct Snapshot: Sendable {
        var eventsByFate: [Int32: Int64] = [:]
        var batchesClosed: Int64 = 0
        var requests: Int64 = 0
        var devicesPruned: Int64 = 0
        /// What the audit last found, by check; empty unless this daemon does it.
        var audit: [String: AuditFigure] = [:]
    }

    private let counts = Locked(Snapshot())

    /// Makes counters at zero.
    init() {}

    /// The counts now.
    var snapshot: Snapshot { counts.withLock { $0 } }

    /// Counts a planning round.
    func planned(_ round: PlanRoundSummary) {
        let fates = round.fates
        guard !fates.isEmpty else { return }
        counts.withLock { counts in
            for (fate, events) in fates { counts.eventsByFate[fate, default: 0] += events }
        }
    }

    /// Changes counts.
    func add(_ change: @Sendable (inout Snapshot) -> Void) {
        counts.withLock { change(&$0) }
    }
}
