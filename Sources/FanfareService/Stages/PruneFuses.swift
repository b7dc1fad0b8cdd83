internal import FanfareCore
internal import PostgresClient
internal import Threading

/// What a prune fuse guards: an app's devices in one environment.
struct FuseKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    let app: String
    let environment: String

    /// `shop/production`.
    var description: String { "\(app)/\(environment)" }

    static func < (left: FuseKey, right: FuseKey) -> Bool { left.description < right.description }
}

/// The prune fuses as this daemon knows them.
///
/// One that blows here stops this daemon at once; the database makes it stop the others, and outlives us all
/// (``FuseKeeper``).
final class PruneFuses: Sendable {
    private struct Known {
        var fuse = PruneFuse()
        /// Whether the database has it that the fuse is blown.
        var isStored = false
        /// Whether the log has it.
        var isAnnounced = false
        var closedAt: Timestamp?
    }

    private let known = Locked<[FuseKey: Known]>([:])

    /// Counts this daemon's answers, before what they say is done.
    func record(_ counts: PruneCounts, of key: FuseKey) {
        let now = Clocks.steady
        known.withLock { known in _ = known[key, default: Known()].fuse.record(counts, at: now) }
    }

    /// Judges what all daemons were answered.
    func observe(_ counts: PruneCounts, of key: FuseKey) {
        let now = Clocks.steady
        known.withLock { known in _ = known[key, default: Known()].fuse.observe(counts, at: now) }
    }

    /// Whether devices may be disabled.
    func allowsPruning(of key: FuseKey) -> Bool {
        known.withLock { $0[key]?.fuse.allowsPruning ?? true }
    }

    /// The fuses that are blown.
    var blown: [FuseKey] {
        known.withLock { known in known.filter { !$0.value.fuse.allowsPruning }.keys.sorted() }
    }

    // MARK: The database's

    /// The fuses that blew here and are not known to be stored, and by which evidence.
    var unstored: [(key: FuseKey, by: PruneEvidence.Strength)] {
        known.withLock { known in
            known.compactMap { key, known in
                guard !known.isStored, case .blown(let strength, _) = known.fuse.state else { return nil }
                return (key, strength)
            }
        }
    }

    /// Notes that the database has a blown fuse.
    func stored(_ key: FuseKey) {
        known.withLock { $0[key]?.isStored = true }
    }

    /// Takes over what the database has: who was closed counts anew, who is blown is blown here too.
    ///
    /// - Returns: which fuses are now known to be blown, and to be closed, that were not before.
    func take(_ fuses: [StoredFuse]) -> (blown: [FuseKey], closed: [FuseKey]) {
        let now = Clocks.steady
        return known.withLock { known in
            var changes: (blown: [FuseKey], closed: [FuseKey]) = ([], [])
            for stored in fuses {
                var mine = known[stored.key] ?? Known()
                let wasClosed = mine.closedAt != stored.closedAt
                if wasClosed {
                    if !mine.fuse.allowsPruning && stored.blownBy == nil { changes.closed.append(stored.key) }
                    mine = Known(closedAt: stored.closedAt)
                }
                if let strength = stored.blownBy {
                    if !mine.isAnnounced { changes.blown.append(stored.key) }
                    mine.fuse.blow(by: strength, at: now)
                    mine.isStored = true
                    mine.isAnnounced = true
                }
                known[stored.key] = mine
            }
            return changes
        }
    }
}
