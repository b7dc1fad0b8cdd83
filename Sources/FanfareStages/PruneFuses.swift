package import FanfareCore
package import FanfareStore
internal import PostgresClient
internal import Threading

/// The prune fuses as this daemon knows them.
///
/// One that blows here stops this daemon at once; the database makes it stop the others, and outlives us all
/// (``FuseSync``).
package final class PruneFuses: Sendable {
    private struct Known {
        /// Judges the answers of all providers together.
        var all = PruneFuse()
        /// Judge each provider's: many good answers of one must not hide that another calls every token dead.
        var byProvider: [String: PruneFuse] = [:]
        /// Whether the database has it that the fuse is blown.
        var isStored = false
        /// Whether the log has it.
        var isAnnounced = false
        var closedAt: Timestamp?

        /// Which evidence there was too much of; nil while devices may be disabled.
        var blownBy: PruneEvidence.Strength? {
            for fuse in [all] + byProvider.values {
                if case .blown(let strength, _) = fuse.state { return strength }
            }
            return nil
        }
    }

    private let known = Locked<[FuseKey: Known]>([:])

    /// Counts a provider's answers to this daemon, before what they say is done.
    package func record(_ counts: PruneCounts, from provider: String, of key: FuseKey) {
        let now = Clocks.steady
        known.withLock { known in
            _ = known[key, default: Known()].all.record(counts, at: now)
            _ = known[key, default: Known()].byProvider[provider, default: PruneFuse()].record(counts, at: now)
        }
    }

    /// Judges what all daemons were answered: each provider's answers, and those of all providers together.
    package func observe(_ sums: [AnswerSource: PruneCounts]) {
        let now = Clocks.steady
        known.withLock { known in
            for (source, counts) in sums {
                _ = known[source.key, default: Known()].byProvider[source.provider, default: PruneFuse()]
                    .observe(counts, at: now)
            }
            for (key, counts) in sums.byFuse { _ = known[key, default: Known()].all.observe(counts, at: now) }
        }
    }

    /// Whether devices may be disabled.
    package func allowsPruning(of key: FuseKey) -> Bool {
        known.withLock { $0[key]?.blownBy == nil }
    }

    /// The fuses that are blown.
    package var blown: [FuseKey] {
        known.withLock { known in known.filter { $0.value.blownBy != nil }.keys.sorted() }
    }

    // MARK: The database's

    /// The fuses that blew here and are not known to be stored, and by which evidence.
    package var unstored: [(key: FuseKey, by: PruneEvidence.Strength)] {
        known.withLock { known in
            known.compactMap { key, known in
                guard !known.isStored, let strength = known.blownBy else { return nil }
                return (key, strength)
            }
        }
    }

    /// Notes that the database has a blown fuse.
    package func stored(_ key: FuseKey) {
        known.withLock { $0[key]?.isStored = true }
    }

    /// Takes over what the database has: who was closed counts anew, who is blown is blown here too.
    ///
    /// - Returns: which fuses are now known to be blown, and to be closed, that were not before.
    package func take(_ fuses: [StoredFuse]) -> (blown: [FuseKey], closed: [FuseKey]) {
        let now = Clocks.steady
        return known.withLock { known in
            var changes: (blown: [FuseKey], closed: [FuseKey]) = ([], [])
            for stored in fuses {
                var mine = known[stored.key] ?? Known()
                let wasClosed = mine.closedAt != stored.closedAt
                if wasClosed {
                    if mine.blownBy != nil && stored.blownBy == nil { changes.closed.append(stored.key) }
                    mine = Known(closedAt: stored.closedAt)
                }
                if let strength = stored.blownBy {
                    if !mine.isAnnounced { changes.blown.append(stored.key) }
                    mine.all.blow(by: strength, at: now)
                    mine.isStored = true
                    mine.isAnnounced = true
                }
                known[stored.key] = mine
            }
            return changes
        }
    }
}

extension [AnswerSource: PruneCounts] {
    /// The sums over all providers.
    package var byFuse: [FuseKey: PruneCounts] {
        reduce(into: [:]) { $0[$1.key.key, default: PruneCounts()] += $1.value }
    }
}
