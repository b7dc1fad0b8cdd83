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
}

/// Takes a session advisory lock if it is free.
package struct TryLock: PostgresStatement {
    package static let name = "try_lock"
    package static let sql = "SELECT pg_try_advisory_lock($1, $2)"

    package var family = AdvisoryLock.family
    package let key: Int32

    package init(family: Int32 = AdvisoryLock.family, key: Int32) {
        self.family = family
        self.key = key
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(family)
        binds.append(key)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}

/// Releases a session advisory lock.
package struct Unlock: PostgresStatement {
    package static let name = "unlock"
    package static let sql = "SELECT pg_advisory_unlock($1, $2)"

    package var family = AdvisoryLock.family
    package let key: Int32

    package init(family: Int32 = AdvisoryLock.family, key: Int32) {
        self.family = family
        self.key = key
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(family)
        binds.append(key)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}

/// Waits until no other transaction puts rules into force, and blocks others from it until this transaction ends.
package struct LockActivation: PostgresStatement {
    package static let name = "lock_activation"
    package static let sql = "SELECT pg_advisory_xact_lock($1, $2)"

    package init() {}

    package func bind(to binds: inout PostgresBinds) {
        binds.append(AdvisoryLock.family)
        binds.append(AdvisoryLock.activation)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) {}
}

/// Marks this daemon as sleeping; waits for the lock, which emitters hold for microseconds.
package struct BeginSleep: PostgresStatement {
    package static let name = "begin_sleep"
    package static let sql = "SELECT pg_advisory_lock_shared($1, $2)"

    package init() {}

    package func bind(to binds: inout PostgresBinds) {
        binds.append(AdvisoryLock.family)
        binds.append(AdvisoryLock.sleeping)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) {}
}

/// Marks this daemon as awake.
package struct EndSleep: PostgresStatement {
    package static let name = "end_sleep"
    package static let sql = "SELECT pg_advisory_unlock_shared($1, $2)"

    package init() {}

    package func bind(to binds: inout PostgresBinds) {
        binds.append(AdvisoryLock.family)
        binds.append(AdvisoryLock.sleeping)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) {}
}
