internal import FanfareCore
internal import PostgresClient

/// What the prune fuses go by: answers of the last ten minutes, from all daemons, since an operator last closed the fuse.
struct RecentAnswers: PostgresStatement {
    static let name = "recent_answers"
    static let sql = """
        SELECT a.name, h.environment, t.platform,
            sum(s.pairs) FILTER (WHERE s.outcome = 1 OR s.outcome >= 64)::bigint,
            coalesce(sum(s.pairs) FILTER (WHERE s.outcome = ANY ($1::smallint[])), 0)::bigint,
            coalesce(sum(s.pairs) FILTER (WHERE s.outcome BETWEEN 64 AND 95 AND s.outcome <> ALL ($1::smallint[])), 0)::bigint
        FROM fanfare.stats_pending AS s
        JOIN fanfare.targets AS t ON t.id = s.target_id
        JOIN fanfare.apps AS a ON a.id = t.app_id
        -- `BadDeviceToken` is final in the environment that was asked last: the devices are the other one's.
        CROSS JOIN LATERAL (
            SELECT CASE
                WHEN t.platform <> 'apns' OR s.outcome <> ALL ($1::smallint[]) THEN t.environment
                WHEN t.environment = 'production' THEN 'sandbox'
                ELSE 'production'
            END AS environment
        ) AS h
        LEFT JOIN fanfare.prune_fuses AS f ON f.app_id = t.app_id AND f.environment = h.environment
        WHERE s.at > statement_timestamp() - interval '10 minutes' AND (f.closed_at IS NULL OR s.at > f.closed_at)
        GROUP BY a.name, h.environment, t.platform
        """

    /// The outcomes that stand for weak evidence.
    let weak: [Outcome]

    func bind(to binds: inout PostgresBinds) {
        binds.append(weak.map { Int16($0.rawValue) })
    }

    /// One provider's answers.
    struct Row {
        let key: FuseKey
        let provider: String
        let counts: PruneCounts
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(
            key: FuseKey(app: try row.string(0), environment: try row.string(1)),
            provider: try row.string(2),
            counts: PruneCounts(
                answers: Int(try row.int64(orNil: 3) ?? 0),
                weak: Int(try row.int64(4)),
                strong: Int(try row.int64(5))
            )
        )
    }
}

/// A prune fuse as all daemons know it.
struct StoredFuse: Equatable {
    let key: FuseKey
    /// Which evidence there was too much of; nil unless the fuse is blown.
    let blownBy: PruneEvidence.Strength?
    /// When an operator last closed it.
    let closedAt: Timestamp?
}

/// The prune fuses that were ever blown.
struct StoredFuses: PostgresStatement {
    static let name = "stored_fuses"
    static let sql = """
        SELECT a.name, f.environment, f.evidence, f.closed_at
        FROM fanfare.prune_fuses AS f JOIN fanfare.apps AS a ON a.id = f.app_id
        """

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> StoredFuse {
        let evidence = try row.string(orNil: 2)
        return StoredFuse(
            key: FuseKey(app: try row.string(0), environment: try row.string(1)),
            blownBy: evidence.map { $0 == PruneEvidence.Strength.weak.word ? .weak : .strong },
            closedAt: try row.timestamp(orNil: 3)
        )
    }
}

/// Blows a fuse for all daemons and raises the alarm; nothing where it is blown already.
struct BlowFuse: PostgresStatement {
    static let name = "blow_fuse"
    static let sql = """
        WITH blown AS (
            INSERT INTO fanfare.prune_fuses AS f (app_id, environment, blown_at, evidence)
            SELECT a.id, $2, clock_timestamp(), $3 FROM fanfare.apps AS a WHERE a.name = $1
            ON CONFLICT (app_id, environment) DO UPDATE SET blown_at = excluded.blown_at, evidence = excluded.evidence
                WHERE f.blown_at IS NULL
            RETURNING 1
        )
        INSERT INTO fanfare.alarms (name, detail)
        SELECT 'prune_fuse/' || $1 || '/' || $2, $4 FROM blown
        ON CONFLICT (name) DO UPDATE SET detail = excluded.detail, since = clock_timestamp()
        """

    let key: FuseKey
    let strength: PruneEvidence.Strength

    func bind(to binds: inout PostgresBinds) {
        binds.append(key.app)
        binds.append(key.environment)
        binds.append(strength.word)
        binds.append(
            "too many tokens seem dead, on \(strength.word) evidence: none is pruned; look at the provider's answers and the "
                + "credentials, then run `fanfare devices resume-pruning --app \(key.app)`"
        )
    }
}

/// Closes an app's blown fuses and takes their alarms down.
struct CloseFuses: PostgresStatement {
    static let name = "close_fuses"
    static let sql = """
        WITH closed AS (
            UPDATE fanfare.prune_fuses AS f SET blown_at = NULL, evidence = NULL, closed_at = clock_timestamp()
            FROM fanfare.apps AS a
            WHERE a.id = f.app_id AND a.name = $1 AND ($2::text IS NULL OR f.environment = $2) AND f.blown_at IS NOT NULL
            RETURNING a.name, f.environment
        ),
        cleared AS (
            DELETE FROM fanfare.alarms WHERE name IN (SELECT 'prune_fuse/' || c.name || '/' || c.environment FROM closed AS c)
        )
        SELECT environment FROM closed ORDER BY environment
        """

    let app: String
    /// Nil for both.
    let environment: String?

    func bind(to binds: inout PostgresBinds) {
        binds.append(app)
        binds.append(environment)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> String {
        try row.string(0)
    }
}

extension PruneEvidence.Strength {
    /// What the database calls it.
    var word: String {
        switch self {
        case .weak: "weak"
        case .strong: "strong"
        }
    }
}
