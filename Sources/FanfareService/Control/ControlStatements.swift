package import PostgresClient

/// The advisory lock keys of `schema.sql`.
enum AdvisoryLock {
    /// "FANF".
    static let family: Int32 = 1_178_685_254
    /// The family in which a key is an instance id.
    static let instances: Int32 = 1_178_685_255

    /// Held exclusively by a daemon that drains the outbox: nobody needs to be woken.
    static let draining: Int32 = 1
    /// Held shared by every daemon that sleeps.
    static let sleeping: Int32 = 2
    static let foreignChannels: Int32 = 3
    static let maintenance: Int32 = 4
    static let sideQueue: Int32 = 5
}

/// Takes a session advisory lock if it is free.
struct TryLock: PostgresStatement {
    static let name = "try_lock"
    static let sql = "SELECT pg_try_advisory_lock($1, $2)"

    var family = AdvisoryLock.family
    let key: Int32

    func bind(to binds: inout PostgresBinds) {
        binds.append(family)
        binds.append(key)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}

/// Releases a session advisory lock.
struct Unlock: PostgresStatement {
    static let name = "unlock"
    static let sql = "SELECT pg_advisory_unlock($1, $2)"

    var family = AdvisoryLock.family
    let key: Int32

    func bind(to binds: inout PostgresBinds) {
        binds.append(family)
        binds.append(key)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}

/// Says that this daemon sleeps; waits for the lock, which emitters hold for microseconds.
struct BeginSleep: PostgresStatement {
    static let name = "begin_sleep"
    static let sql = "SELECT pg_advisory_lock_shared($1, $2)"

    func bind(to binds: inout PostgresBinds) {
        binds.append(AdvisoryLock.family)
        binds.append(AdvisoryLock.sleeping)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) {}
}

/// Says that this daemon no longer sleeps.
struct EndSleep: PostgresStatement {
    static let name = "end_sleep"
    static let sql = "SELECT pg_advisory_unlock_shared($1, $2)"

    func bind(to binds: inout PostgresBinds) {
        binds.append(AdvisoryLock.family)
        binds.append(AdvisoryLock.sleeping)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) {}
}

/// Enters a daemon into the list and takes the lock that says it lives; a new number for every control connection.
struct EnterInstance: PostgresStatement {
    static let name = "enter_instance"
    static let sql = """
        WITH entered AS (
            INSERT INTO fanfare.instances (name, host, pid, version, lease_until)
            VALUES ($1, $2, $3, $4, clock_timestamp() + $5 * interval '1 microsecond')
            RETURNING id
        )
        SELECT id, pg_try_advisory_lock($6, id), clock_timestamp() FROM entered
        """

    let daemon: String
    let host: String
    let pid: Int32
    let version: String
    let leaseMicroseconds: Int64

    func bind(to binds: inout PostgresBinds) {
        binds.append(daemon)
        binds.append(host)
        binds.append(pid)
        binds.append(version)
        binds.append(leaseMicroseconds)
        binds.append(AdvisoryLock.instances)
    }

    static func decode(
        _ row: borrowing PostgresRow
    ) throws(PostgresError) -> (id: Int32, isLocked: Bool, databaseNow: Timestamp) {
        (try row.int32(0), try row.bool(1), try row.timestamp(2))
    }
}

/// Renews the lease; no row if another daemon took this one for dead.
struct RenewLease: PostgresStatement {
    static let name = "renew_lease"
    static let sql = """
        WITH led AS (
            INSERT INTO fanfare.leaders AS l (role) SELECT unnest($3::text[]) ORDER BY 1
            ON CONFLICT (role) DO UPDATE SET led_at = excluded.led_at
        )
        UPDATE fanfare.instances
        SET heartbeat_at = clock_timestamp(), lease_until = clock_timestamp() + $2 * interval '1 microsecond',
            leads = $3::text[], report = $4::jsonb
        WHERE id = $1
        RETURNING clock_timestamp()
        """

    let owner: Int32
    let leaseMicroseconds: Int64
    let leads: [String]
    let report: String

    func bind(to binds: inout PostgresBinds) {
        binds.append(owner)
        binds.append(leaseMicroseconds)
        binds.append(leads)
        binds.append(report)
    }

    /// The database's time.
    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Timestamp {
        try row.timestamp(0)
    }
}

/// The other daemons, and owners of batches that are in no list: whoever was stopped in the middle of a claim and struck off
/// meanwhile makes it all the same.
struct OtherInstances: PostgresStatement {
    static let name = "other_instances"
    static let sql = """
        SELECT id, lease_until < clock_timestamp() FROM fanfare.instances WHERE id <> $1
        UNION ALL
        SELECT DISTINCT b.owner, true FROM fanfare.batches AS b
        WHERE b.owner <> $1 AND NOT EXISTS (SELECT FROM fanfare.instances AS i WHERE i.id = b.owner)
        """

    let owner: Int32

    func bind(to binds: inout PostgresBinds) {
        binds.append(owner)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> DeathWatch.Other {
        DeathWatch.Other(id: try row.int32(0), isLeaseOver: try row.bool(1))
    }
}

/// Frees the batches of a daemon that is dead and strikes it off the list; no row if it was not dead after all.
///
/// Whose lock is held was decided before: a look at locks in here would steal from a live owner, since an UPDATE that waited
/// rechecks its row only. A lease is looked at here: it is in the row that is struck, and its owner may renew it until then.
struct Rescue: PostgresStatement {
    static let name = "rescue"
    static let sql = """
        WITH struck AS (
            DELETE FROM fanfare.instances WHERE id = $1 AND (NOT $2 OR lease_until < clock_timestamp()) RETURNING id
        ),
        dead AS (
            SELECT id FROM struck
            UNION ALL
            SELECT $1 WHERE NOT EXISTS (SELECT FROM fanfare.instances WHERE id = $1)
        ),
        freed AS (
            UPDATE fanfare.batches SET owner = NULL, lease_token = NULL, not_before = clock_timestamp()
            WHERE owner = $1 AND EXISTS (SELECT FROM dead)
            RETURNING 1
        )
        SELECT (SELECT count(*) FROM freed) FROM dead
        """

    let dead: Int32
    /// Whether it lives if it has renewed its lease.
    var unlessRenewed = false

    func bind(to binds: inout PostgresBinds) {
        binds.append(dead)
        binds.append(unlessRenewed)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}

/// A cancellation that was asked for.
struct CancelFact: Equatable, Sendable {
    let id: Int64
    let eventID: Int64?
    let type: String?
    let key: String?
    let createdAt: Timestamp
}

/// Cancellations that became visible since the last look, each of them once.
///
/// A transaction that long stays open makes nothing come twice. What came with a dump from a server that was further on with
/// its transaction ids is no news for as long as they lie in the future here; whoever fetches its event sees it
/// (``FetchEvents``).
struct NewCancels: PostgresStatement {
    static let name = "new_cancels"
    static let sql = """
        SELECT look.at::text, c.id, c.event_id, c.type, c.key, c.created_at
        FROM (SELECT pg_current_snapshot() AS at) AS look
        LEFT JOIN fanfare.cancels AS c ON c.xid >= pg_snapshot_xmin($1::text::pg_snapshot)
            AND c.xid < pg_snapshot_xmax(look.at) AND NOT pg_visible_in_snapshot(c.xid, $1::text::pg_snapshot)
        """

    /// What the last look saw; nil for none, to begin with what comes from now on.
    let since: String?

    func bind(to binds: inout PostgresBinds) {
        binds.append(since)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> (seen: String, fact: CancelFact?) {
        let seen = try row.string(0)
        guard let id = try row.int64(orNil: 1) else { return (seen, nil) }
        return (
            seen,
            CancelFact(
                id: id,
                eventID: try row.int64(orNil: 2),
                type: try row.string(orNil: 3),
                key: try row.string(orNil: 4),
                createdAt: try row.timestamp(5)
            )
        )
    }
}

/// Whether this session may send: whose database this is, and which it was when it was adopted.
package struct ReadInstallation: PostgresStatement {
    package static let name = "read_installation"
    package static let sql = """
        SELECT v.version, v.oldest_daemon, i.one IS NOT NULL, i.name,
            i.system_identifier = c.system_identifier AND i.database_oid = d.oid, pg_is_in_recovery()
        FROM fanfare.schema_version AS v
        CROSS JOIN pg_control_system() AS c
        JOIN pg_database AS d ON d.datname = current_database()
        LEFT JOIN fanfare.installation AS i ON true
        """

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Installation {
        Installation(
            schemaVersion: Int(try row.int32(0)),
            oldestDaemon: Int(try row.int32(1)),
            isAdopted: try row.bool(2),
            name: try row.string(orNil: 3),
            isSameDatabase: try row.bool(orNil: 4) ?? false,
            isReplica: try row.bool(5)
        )
    }
}

/// Makes ids skip ahead where the server has taken another timeline since it was last asked; says whether it had.
struct EnterTimeline: PostgresStatement {
    static let name = "enter_timeline"
    static let sql = "SELECT fanfare.enter_timeline()"

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}

/// What the database says of itself.
package struct Installation: Equatable {
    package let schemaVersion: Int
    let oldestDaemon: Int
    package let isAdopted: Bool
    package let name: String?
    package let isSameDatabase: Bool
    let isReplica: Bool
}
