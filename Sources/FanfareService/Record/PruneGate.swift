internal import FanfareCore
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient
internal import Threading

/// Lets through to the database only as much evidence against tokens as the prune fuses allow, whatever other daemons are
/// answered at the same time.
///
/// A daemon asks before it writes, and only where its answers hold evidence. What may not be followed is recorded with its
/// device kept; the provider will say it again.
struct PruneGate {
    /// How long answers without evidence are kept to ourselves.
    static let interval = 5 * Micros.second

    private let context: StageContext
    /// What this daemon was answered and the others do not know.
    ///
    /// Nothing of a fuse that is blown: when it is closed, counting begins anew.
    private var unshared: [AnswerSource: PruneCounts] = [:]
    /// Since when there is any.
    private var unsharedSince: Microseconds?

    init(context: StageContext) {
        self.context = context
    }

    /// Counts answers, and asks about the evidence among them.
    ///
    /// - Parameters:
    ///   - ledger: what is to be written next; keeps devices beyond what is allowed.
    ///   - session: where the answers of all daemons are.
    /// - Returns: false if it could not be asked; nothing is to be written then.
    mutating func judge(_ ledger: inout RecordLedger, over session: Session) -> Bool {
        count(ledger.takeUncounted())
        let fresh = unshared
        guard fresh.contains(where: { $0.value.hasEvidence }) else { return true }
        let apps = Set(fresh.keys.map(\.key.app))
        let sums = session.attempt { connection throws(PostgresError) in
            _ = try connection.runReturningCount(ShareAnswers(counts: fresh))
            return try connection.answers(of: apps)
        }
        guard let sums else { return false }
        forget()
        context.fuses.observe(sums)
        ledger.keepDevices(beyond: PruneAllowances(sums: sums, fresh: fresh))
        return true
    }

    /// Tells the others of answers that hold no evidence, now and then.
    mutating func share(over session: Session) {
        guard let since = unsharedSince, Clocks.steady - since >= Self.interval else { return }
        let counts = unshared
        let shared = session.attempt { connection throws(PostgresError) in
            try connection.runReturningCount(ShareAnswers(counts: counts))
        }
        if shared != nil { forget() }
    }

    private mutating func count(_ news: [AnswerSource: PruneCounts]) {
        for (source, counts) in news {
            context.fuses.record(counts, from: source.provider, of: source.key)
            unshared[source, default: PruneCounts()] += counts
        }
        unshared = unshared.filter { context.fuses.allowsPruning(of: $0.key.key) }
        unsharedSince = unshared.isEmpty ? nil : unsharedSince ?? Clocks.steady
    }

    private mutating func forget() {
        unshared = [:]
        unsharedSince = nil
    }
}

extension PruneCounts {
    /// Whether anything speaks against a token.
    fileprivate var hasEvidence: Bool { weak > 0 || strong > 0 }
}
