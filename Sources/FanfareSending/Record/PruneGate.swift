internal import FanfareCore
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient
internal import Threading

/// Admits only as much evidence against tokens as the prune fuses allow, with the answers to all daemons taken into
/// account.
///
/// A daemon reads the sums before it writes outcomes, but only if its answers hold evidence. Where pruning is not
/// allowed, the outcome is recorded and the device kept; the provider will report the token again.
struct PruneGate {
    /// How long answers without evidence stay unshared.
    static let interval = 5 * Micros.second

    private let fuses: PruneFuses
    /// The answers to this daemon that are not shared yet.
    ///
    /// Answers under a blown fuse are not included: when the fuse is closed, counting starts again.
    private var unshared: [AnswerSource: PruneCounts] = [:]
    /// Since when there are unshared answers.
    private var unsharedSince: Microseconds?

    /// Whether there are unshared answers.
    var hasUnshared: Bool { unsharedSince != nil }

    init(_ fuses: PruneFuses) {
        self.fuses = fuses
    }

    /// Counts answers, and checks the evidence among them against the fuses.
    ///
    /// - Parameters:
    ///   - ledger: the outcomes to be written next; it keeps the devices beyond the allowances.
    ///   - session: the session with which all daemons' answers are shared and read.
    /// - Returns: false if the sums could not be read; nothing may be written then.
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
        fuses.observe(sums)
        ledger.keepDevices(beyond: PruneAllowances(sums: sums, fresh: fresh))
        return true
    }

    /// Shares answers without evidence from time to time.
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
            fuses.record(counts, from: source.provider, of: source.key)
            unshared[source, default: PruneCounts()] += counts
        }
        unshared = unshared.filter { fuses.allowsPruning(of: $0.key.key) }
        unsharedSince = unshared.isEmpty ? nil : unsharedSince ?? Clocks.steady
    }

    private mutating func forget() {
        unshared = [:]
        unsharedSince = nil
    }
}

extension PruneCounts {
    /// Whether there is any evidence against a token.
    fileprivate var hasEvidence: Bool { weak > 0 || strong > 0 }
}
