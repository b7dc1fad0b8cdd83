internal import FanfareCore
internal import FanfareStore

/// Decides which of the other daemons are dead: whose lock this session could take and still has 3 s later, or whose
/// lease is over by database time.
struct DeathWatch {
    /// How long a silent daemon's lock is held before its batches are freed: longer than a daemon that lost its control
    /// session notices, and goes on submitting.
    static let patience = 3 * Micros.second

    /// Since when this session has held a silent daemon's lock.
    private(set) var suspects: [Int32: Microseconds] = [:]

    /// Whether the lock of a daemon is to be tried: it is not held yet.
    func shouldTryLock(of other: OtherInstance) -> Bool { suspects[other.id] == nil }

    /// This session took a daemon's lock.
    mutating func tookLock(of id: Int32, at now: Microseconds) {
        suspects[id] = now
    }

    /// Whether the batches of a daemon are to be freed.
    func isDead(_ other: OtherInstance, at now: Microseconds) -> Bool {
        other.isLeaseOver || isSilent(other.id, at: now)
    }

    /// Whether a daemon's lock was held long enough that it is dead whatever its lease says.
    func isSilent(_ id: Int32, at now: Microseconds) -> Bool {
        suspects[id].map { now - $0 >= Self.patience } ?? false
    }

    /// Forgets who is no longer listed, and who is freed for its lease.
    ///
    /// - Parameter others: the list as it was read.
    /// - Returns: whose locks are to be released.
    mutating func settle(_ others: [OtherInstance]) -> [Int32] {
        let over = suspects.keys.filter { id in
            others.first { $0.id == id }?.isLeaseOver ?? true
        }
        for id in over { suspects[id] = nil }
        return over.sorted()
    }
}
