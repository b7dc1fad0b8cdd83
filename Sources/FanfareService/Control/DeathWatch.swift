internal import FanfareCore
internal import FanfareStore
internal import PostgresClient

/// Decides which of the other daemons are dead: whose lock this session could take and still has 3 s later, or who was not seen to
/// renew its lease for as long as a lease is.
///
/// Times are of this machine's steady clock: the database's may be set while a daemon is at work. Its lease ends by its own steady
/// clock, which it reads before it renews, and so before anybody can see the renewal.
struct DeathWatch {
    /// How long a silent daemon's lock is held before its batches are freed: longer than a daemon that lost its control
    /// session notices, and goes on submitting.
    static let patience = 3 * Micros.second

    private struct Lease {
        let until: Timestamp
        let seenAt: Microseconds
    }

    /// Since when this session has held a silent daemon's lock.
    private(set) var suspects: [Int32: Microseconds] = [:]
    /// Each daemon's lease, and when it was seen first.
    private var leases: [Int32: Lease] = [:]

    /// Whether the lock of a daemon is to be tried: it is not held yet.
    func shouldTryLock(of other: OtherInstance) -> Bool { suspects[other.id] == nil }

    /// This session took a daemon's lock.
    mutating func tookLock(of id: Int32, at now: Microseconds) {
        suspects[id] = now
    }

    /// Takes in the list of the other daemons.
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

    /// Whether the batches of a daemon are to be freed.
    func isDead(_ other: OtherInstance, at now: Microseconds) -> Bool {
        isLeaseOver(other, at: now) || isSilent(other.id, at: now)
    }

    /// Whether a daemon's lock was held long enough that it is dead whatever its lease says.
    func isSilent(_ id: Int32, at now: Microseconds) -> Bool {
        suspects[id].map { now - $0 >= Self.patience } ?? false
    }

    /// Whether a daemon was not seen to renew its lease for as long as it goes, or is in no list.
    private func isLeaseOver(_ other: OtherInstance, at now: Microseconds) -> Bool {
        guard let until = other.leaseUntil else { return true }
        return leases[other.id].map { $0.until == until && now - $0.seenAt >= LeaseGuard.length } ?? false
    }

    /// Forgets who is no longer listed, and who is freed for its lease.
    ///
    /// - Parameters:
    ///   - others: the list as it was read.
    ///   - now: the time at which they were judged.
    /// - Returns: whose locks are to be released.
    mutating func settle(_ others: [OtherInstance], at now: Microseconds) -> [Int32] {
        let over = suspects.keys.filter { id in
            others.first { $0.id == id }.map { isLeaseOver($0, at: now) } ?? true
        }
        for id in over { suspects[id] = nil }
        return over.sorted()
    }
}
