internal import FanfareCore
internal import FanfareStore
internal import PostgresClient

/// Decides which other daemons are dead: those whose lock this session acquired and still holds 3 s later, and those
/// whose lease was not seen to be renewed within its length.
///
/// All times are of this machine's steady clock, because the database's clock may be set while daemons work. A daemon's
/// lease ends by its own steady clock, which it reads before it renews the lease, and therefore before another daemon
/// can see the renewal.
struct DeathWatch {
    /// How long a silent daemon's lock is held before its batches are freed.
    ///
    /// A daemon that loses its control session notices this and stops submitting in less time.
    static let patience = 3 * Micros.second

    private struct Lease {
        let until: Timestamp
        let seenAt: Microseconds
    }

    /// Since when this session has held a silent daemon's lock.
    private(set) var suspects: [Int32: Microseconds] = [:]
    /// The lease of each daemon, and when it was first seen.
    private var leases: [Int32: Lease] = [:]

    /// Returns whether to try a daemon's lock, that is, whether it is not held yet.
    func shouldTryLock(of other: OtherInstance) -> Bool { suspects[other.id] == nil }

    /// Records that a daemon's lock was acquired.
    mutating func tookLock(of id: Int32, at now: Microseconds) {
        suspects[id] = now
    }

    /// Updates the leases from the list of the other daemons.
    ///
    /// - Parameters:
    ///   - others: the list.
    ///   - now: the time after it was read.
    mutating func see(_ others: [OtherInstance], at now: Microseconds) {
        var seen: [Int32: Lease] = [:]
        for other in others {
            guard let until = other.leaseUntil else { continue }
            let known = leases[other.id].flatMap { $0.until == until ? $0 : nil }
            seen[other.id] = known ?? Lease(until: until, seenAt: now)
        }
        leases = seen
    }

    /// Returns whether a daemon's batches are to be freed.
    func isDead(_ other: OtherInstance, at now: Microseconds) -> Bool {
        isLeaseOver(other, at: now) || isSilent(other.id, at: now)
    }

    /// Returns whether a daemon's lock was held long enough that it is dead regardless of its lease.
    func isSilent(_ id: Int32, at now: Microseconds) -> Bool {
        suspects[id].map { now - $0 >= Self.patience } ?? false
    }

    /// Returns whether a daemon's lease was not seen to be renewed within its length, or the daemon has none.
    private func isLeaseOver(_ other: OtherInstance, at now: Microseconds) -> Bool {
        guard let until = other.leaseUntil else { return true }
        return leases[other.id].map { $0.until == until && now - $0.seenAt >= LeaseGuard.length } ?? false
    }

    /// Removes daemons that are no longer listed, and those whose lease has ended.
    ///
    /// - Parameters:
    ///   - others: the list of the other daemons.
    ///   - now: the time at which they were judged.
    /// - Returns: the daemons whose locks are to be released.
    mutating func settle(_ others: [OtherInstance], at now: Microseconds) -> [Int32] {
        let over = suspects.keys.filter { id in
            others.first { $0.id == id }.map { isLeaseOver($0, at: now) } ?? true
        }
        for id in over { suspects[id] = nil }
        return over.sorted()
    }
}
