internal import FanfareCore
package import PostgresClient

/// The advisory lock keys of `schema.sql`.
package enum AdvisoryLock {
    /// "FANF".
    package static let family: Int32 = 1_178_685_254
    /// The family whose keys are instance ids.
    package static let instances: Int32 = 1_178_685_255

    /// Held exclusively by a daemon that drains the outbox: no daemon has to be woken then.
    package static let draining: Int32 = 1
    /// Held shared by every sleeping daemon.
    package static let sleeping: Int32 = 2
    package static let foreignChannels: Int32 = 3
    package static let maintenance: Int32 = 4
    package static let quarantine: Int32 = 5
    /// Held by a transaction that puts checked rules into force.
    package static let activation: Int32 = 6
    /// Held by a transaction that numbers feedback.
    package static let feedback: Int32 = 7
    /// Held by a transaction that folds reports or credits conversions.
    package static let reports: Int32 = 8
}

extension SQL {
    /// Takes a session advisory lock if it is free.
    ///
    /// Binds: family, key.
    package static let tryLock = Statement<Bool, Int32, Int32>("try_lock", "SELECT pg_try_advisory_lock($1, $2)")

    /// Releases a session advisory lock.
    ///
    /// Binds: family, key.
    package static let unlock = Statement<Bool, Int32, Int32>("unlock", "SELECT pg_advisory_unlock($1, $2)")

    /// Waits until no other transaction puts rules into force, and blocks others from it until this transaction ends.
    package static let lockActivation = Statement<Void>(
        "lock_activation",
        "SELECT pg_advisory_xact_lock(\(AdvisoryLock.family), \(AdvisoryLock.activation))"
    )

    /// Marks this daemon as sleeping; waits for the lock, which emitters hold for microseconds.
    package static let beginSleep = Statement<Void>(
        "begin_sleep",
        "SELECT pg_advisory_lock_shared(\(AdvisoryLock.family), \(AdvisoryLock.sleeping))"
    )

    /// Marks this daemon as awake.
    package static let endSleep = Statement<Void>(
        "end_sleep",
        "SELECT pg_advisory_unlock_shared(\(AdvisoryLock.family), \(AdvisoryLock.sleeping))"
    )
}
