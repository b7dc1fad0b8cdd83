package import FanfareCore
package import FanfareStore
internal import PostgresClient
internal import Threading

/// The prune fuses as this daemon knows them.
///
/// A fuse that blows here stops pruning in this daemon at once. Through the database it stops the other daemons and
/// survives restarts (``FuseSync``).
package final class PruneFuses: Sendable {
    private struct Known {
        /// The fuse over the answers of all providers.
        var all = PruneFuse()
        /// One fuse per provider: many good answers of one provider must not hide that another reports every token as invalid.
        var byProvider: [String: PruneFuse] = [:]
        /// Whether the blown fuse is stored in the database.
        var isStored = false
        /// Whether the blown fuse was logged.
        var isAnnounced = false
        var closedAt: Timestamp?

        /// The kind of evidence that blew the fuse; nil while devices may be disabled.
        var blownBy: PruneEvidence.Strength? {
            for fuse in [all] + byProvider.values {
                if case .blown(let strength, _) = fuse.state { return strength }
            }
            return nil
        }
    }

    private let known = Locked<[FuseKey: Known]>([:])

    /// Counts a provider's answers to this daemon; called before devices are disabled on them.
    package func record(_ counts: PruneCounts, from provider: String, of key: FuseKey) {
        let now = Clocks.steady
        known.withLock { known in
            _ = known[key, default: Known()].all.record(counts, at: now)
            _ = known[key, default: Known()].byProvider[provider, default: PruneFuse()].record(counts, at: now)
        }
    }

    /// Judges the answers to all daemons, per provider and over all providers.
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

    /// Returns whether devices may be disabled.
    package func allowsPruning(of key: FuseKey) -> Bool {
        known.withLock { $0[key]?.blownBy == nil }
    }

    /// The blown fuses, sorted.
    package var blown: [FuseKey] {
        known.withLock { known in known.filter { $0.value.blownBy != nil }.keys.sorted() }
    }

    // MARK: Stored fuses

    /// The fuses that blew here and are not known to be stored, with the kind of evidence.
    package var unstored: [(key: FuseKey, by: PruneEvidence.Strength)] {
        known.withLock { known in
            known.compactMap { key, known in
                guard !known.isStored, let strength = known.blownBy else { return nil }
                return (key, strength)
            }
        }
    }

    /// Records that a blown fuse is stored.
    package func stored(_ key: FuseKey) {
        known.withLock { $0[key]?.isStored = true }
    }

    /// Applies the stored state of the fuses: resets a fuse that an operator closed, and blows one that another daemon blew.
    ///
    /// - Returns: the fuses that were not known before to be blown, and to be closed.
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
