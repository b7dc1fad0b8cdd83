package import PostgresClient

/// Registers a daemon and takes its liveness lock; a new number for every control connection.
package struct EnterInstance: PostgresStatement {
    package static let name = "enter_instance"
    package static let sql = """
        WITH entered AS (
            INSERT INTO fanfare.instances (name, host, pid, version, lease_until, schema_version)
            VALUES ($1, $2, $3, $4, clock_timestamp() + $5 * interval '1 microsecond', $7)
            RETURNING id
        )
        SELECT id, pg_try_advisory_lock($6, id), clock_timestamp() FROM entered
        """

    package let daemon: String
    package let host: String
    package let pid: Int32
    package let version: String
    package let leaseMicroseconds: Int64
    /// The newest schema version that this daemon supports.
    package let schemaVersion: Int

    package init(
        daemon: String,
        host: String,
        pid: Int32,
        version: String,
        leaseMicroseconds: Int64,
        schemaVersion: Int
    ) {
        self.daemon = daemon
        self.host = host
        self.pid = pid
        self.version = version
        self.leaseMicroseconds = leaseMicroseconds
        self.schemaVersion = schemaVersion
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(daemon)
        binds.append(host)
        binds.append(pid)
        binds.append(version)
        binds.append(leaseMicroseconds)
        binds.append(AdvisoryLock.instances)
        binds.append(Int32(schemaVersion))
    }

    package static func decode(
        _ row: borrowing PostgresRow
    ) throws(PostgresError) -> (id: Int32, isLocked: Bool, databaseNow: Timestamp) {
        (try row.int32(0), try row.bool(1), try row.timestamp(2))
    }
}

/// Renews the lease; no row if another daemon has declared this one dead.
package struct RenewLease: PostgresStatement {
    package static let name = "renew_lease"
    package static let sql = """
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

    package let owner: Int32
    package let leaseMicroseconds: Int64
    package let leads: [String]
    package let report: String

    package init(owner: Int32, leaseMicroseconds: Int64, leads: [String], report: String) {
        self.owner = owner
        self.leaseMicroseconds = leaseMicroseconds
        self.leads = leads
        self.report = report
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(owner)
        binds.append(leaseMicroseconds)
        binds.append(leads)
        binds.append(report)
    }

    /// Reads the database's time.
    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Timestamp {
        try row.timestamp(0)
    }
}

/// The row of another daemon.
package struct OtherInstance: Equatable {
    package let id: Int32
    /// The end of its lease in database time, which each renewal changes; nil for an owner of batches that is not
    /// registered.
    package let leaseUntil: Timestamp?

    package init(id: Int32, leaseUntil: Timestamp?) {
        (self.id, self.leaseUntil) = (id, leaseUntil)
    }
}

/// Reads the other daemons, and owners of batches that are not registered.
///
/// A daemon that was suspended in the middle of a claim, and removed meanwhile, still completes that claim.
package struct OtherInstances: PostgresStatement {
    package static let name = "other_instances"
    package static let sql = """
        SELECT id, lease_until FROM fanfare.instances WHERE id <> $1
        UNION ALL
        SELECT DISTINCT b.owner, NULL::timestamptz FROM fanfare.batches AS b
        WHERE b.owner <> $1 AND NOT EXISTS (SELECT FROM fanfare.instances AS i WHERE i.id = b.owner)
        """

    package let owner: Int32

    package init(owner: Int32) {
        self.owner = owner
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(owner)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> OtherInstance {
        OtherInstance(id: try row.int32(0), leaseUntil: try row.timestamp(orNil: 1))
    }
}

/// Frees the batches of a dead daemon and deletes its row; no row if it is alive after all.
///
/// The caller has checked its lock before. A check of locks in this statement could take batches from a live owner,
/// since an UPDATE that has waited rechecks only its row. The lease is checked here: it is in the deleted row, and its
/// owner may renew it until then.
package struct Rescue: PostgresStatement {
    package static let name = "rescue"
    package static let sql = """
        WITH struck AS (
            DELETE FROM fanfare.instances WHERE id = $1 AND ($2::timestamptz IS NULL OR lease_until = $2) RETURNING id
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

    package let dead: Int32
    /// The lease that has expired, unless it was renewed since; nil if the daemon is dead in any case.
    package var lease: Timestamp?

    package init(dead: Int32, unlessRenewed lease: Timestamp? = nil) {
        self.dead = dead
        self.lease = lease
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(dead)
        binds.append(lease)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}
