package import FanfareCore
package import PostgresClient

/// Adds this daemon's responses to the counts that the prune fuses of all daemons use.
///
/// It is committed before ``RecentAnswers`` runs, so of two daemons that have evidence at the same time, at least one
/// sees the other's. The commit does not wait for the disk: the later commit that records the responses themselves
/// does.
package struct ShareAnswers: PostgresStatement {
    package static let name = "share_answers"
    package static let sql = """
        INSERT INTO fanfare.prune_counts AS c (app_id, environment, provider, since, answers, weak, strong)
        SELECT a.id, n.environment, n.provider,
            greatest(date_bin('10 seconds', statement_timestamp(), 'epoch'), f.closed_at), n.answers, n.weak, n.strong
        FROM set_config('synchronous_commit', 'off', true),
            unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
                AS n (app, environment, provider, answers, weak, strong)
        JOIN fanfare.apps AS a ON a.name = n.app
        LEFT JOIN fanfare.prune_fuses AS f ON f.app_id = a.id AND f.environment = n.environment
        -- The same for all, or two daemons would wait for each other.
        ORDER BY a.id, n.environment, n.provider
        ON CONFLICT (app_id, environment, provider, since) DO UPDATE
            SET answers = c.answers + excluded.answers, weak = c.weak + excluded.weak, strong = c.strong + excluded.strong
        """

    package typealias Row = Void

    package let counts: [AnswerSource: PruneCounts]

    package init(counts: [AnswerSource: PruneCounts]) {
        self.counts = counts
    }

    package func bind(to binds: inout PostgresBinds) {
        let rows = Array(counts)
        binds.append(rows.map(\.key.key.app))
        binds.append(rows.map(\.key.key.environment))
        binds.append(rows.map(\.key.provider))
        binds.append(rows.map { Int64($0.value.answers) })
        binds.append(rows.map { Int64($0.value.weak) })
        binds.append(rows.map { Int64($0.value.strong) })
    }
}

/// Reads the input of the prune fuses: responses to all daemons in the last ten minutes, since an operator last closed
/// the fuse.
package struct RecentAnswers: PostgresStatement {
    package static let name = "recent_answers"
    package static let sql = """
        SELECT a.name, c.environment, c.provider, sum(c.answers)::bigint, sum(c.weak)::bigint, sum(c.strong)::bigint
        FROM fanfare.apps AS a
        JOIN fanfare.prune_counts AS c ON c.app_id = a.id
        LEFT JOIN fanfare.prune_fuses AS f ON f.app_id = c.app_id AND f.environment = c.environment
        WHERE ($1::text[] IS NULL OR a.name = ANY ($1::text[]))
            -- Steps that lie in the future are of a clock that was set back.
            AND c.since > statement_timestamp() - interval '10 minutes' AND c.since <= statement_timestamp()
            AND (f.closed_at IS NULL OR c.since >= f.closed_at)
        GROUP BY a.name, c.environment, c.provider
        """

    /// The apps whose devices count; nil for all.
    package let apps: Set<String>?

    package init(apps: Set<String>?) {
        self.apps = apps
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(apps.map(Array.init))
    }

    /// The responses of one provider.
    package struct Row {
        package let source: AnswerSource
        package let counts: PruneCounts
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(
            source: AnswerSource(
                key: FuseKey(app: try row.string(0), environment: try row.string(1)),
                provider: try row.string(2)
            ),
            counts: PruneCounts(
                answers: Int(try row.int64(3)),
                weak: Int(try row.int64(4)),
                strong: Int(try row.int64(5))
            )
        )
    }
}

extension SQL {
    /// Deletes responses that no fuse uses any more.
    package static let forgetAnswers = Statement<Void>(
        "forget_answers",
        """
        DELETE FROM fanfare.prune_counts
        WHERE since < statement_timestamp() - interval '15 minutes' OR since > statement_timestamp() + interval '15 minutes'
        """
    )
}

/// The state of a prune fuse, shared by all daemons.
package struct StoredFuse: Equatable {
    package let key: FuseKey
    /// The kind of evidence that exceeded its limit; nil unless the fuse is blown.
    package let blownBy: PruneEvidence.Strength?
    /// When an operator last closed it.
    package let closedAt: Timestamp?
}

extension SQL {
    /// Reads the prune fuses that were ever blown.
    package static let storedFuses = Statement<StoredFuse>(
        "stored_fuses",
        """
        SELECT a.name, f.environment, f.evidence, f.closed_at
        FROM fanfare.prune_fuses AS f JOIN fanfare.apps AS a ON a.id = f.app_id
        """
    ) { row throws(PostgresError) in
        let evidence = try row.string(orNil: 2)
        return StoredFuse(
            key: FuseKey(app: try row.string(0), environment: try row.string(1)),
            blownBy: evidence.map { $0 == PruneEvidence.Strength.weak.word ? .weak : .strong },
            closedAt: try row.timestamp(orNil: 3)
        )
    }
}

/// Blows a fuse for all daemons and raises the alarm; does nothing if it is blown already.
package struct BlowFuse: PostgresStatement {
    package static let name = "blow_fuse"
    package static let sql = """
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

    package let key: FuseKey
    package let strength: PruneEvidence.Strength

    package init(key: FuseKey, strength: PruneEvidence.Strength) {
        self.key = key
        self.strength = strength
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(key.app)
        binds.append(key.environment)
        binds.append(strength.word)
        binds.append(
            "too many tokens reported invalid, on \(strength.word) evidence: pruning is stopped; check the provider's answers and the "
                + "credentials, then run `fanfare devices resume-pruning --app \(key.app)`"
        )
    }
}

extension SQL {
    /// Closes an app's blown fuses and clears their alarms.
    ///
    /// Binds: app, environment.
    package static let closeFuses = Statement<String, String, String?>(
        "close_fuses",
        """
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
    )
}

extension PruneEvidence.Strength {
    /// The database's name for it.
    var word: String {
        switch self {
        case .weak: "weak"
        case .strong: "strong"
        }
    }
}
