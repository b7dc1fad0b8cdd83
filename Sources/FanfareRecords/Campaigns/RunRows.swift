package import FanfareCore
package import PostgresClient

/// One run of a campaign, with its state.
package struct RunRow: Sendable {
    package let id: Int64
    package let scheduledAt: Timestamp
    package let eventID: Int64?
    package let state: String
    package let detail: String?
}

/// Reads the last runs of a campaign, the newest first.
package struct LastRuns: PostgresStatement {
    package static let name = "last_runs"
    package static let sql = """
        SELECT o.id, o.scheduled_at, o.event_id, o.state, o.detail
        FROM fanfare.runs AS o
        WHERE o.campaign_id = (
            SELECT c.id FROM fanfare.campaigns AS c JOIN fanfare.apps AS a ON a.id = c.app_id
            WHERE a.name = $1 AND c.name = $2 AND c.dropped_at IS NULL)
            AND o.test_users IS NULL
        ORDER BY o.scheduled_at DESC
        LIMIT $3::int
        """

    package let id: RuleID
    package let limit: Int32

    package init(of id: RuleID, limit: Int32) {
        self.id = id
        self.limit = limit
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(id.app)
        binds.append(id.name)
        binds.append(limit)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> RunRow {
        try RunRow(row)
    }
}

/// Finds a run by its id.
package struct FindRun: PostgresStatement {
    package static let name = "find_run"
    package static let sql = """
        SELECT o.id, o.scheduled_at, o.event_id, o.state, o.detail FROM fanfare.runs AS o WHERE o.id = $1::bigint
        """

    package let id: Int64

    package init(id: Int64) {
        self.id = id
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(id)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> RunRow {
        try RunRow(row)
    }
}

/// Finds the test run of a campaign with a query; no row if the campaign has none.
package struct FindTrial: PostgresStatement {
    package static let name = "find_trial"
    package static let sql = """
        SELECT o.id, o.scheduled_at, o.event_id, o.state, o.detail FROM fanfare.runs AS o
        WHERE o.event_id = $1::bigint AND o.test_users IS NOT NULL
        """

    package let eventID: Int64

    package init(eventID: Int64) {
        self.eventID = eventID
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(eventID)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> RunRow {
        try RunRow(row)
    }
}

extension RunRow {
    fileprivate init(_ row: borrowing PostgresRow) throws(PostgresError) {
        id = try row.int64(0)
        scheduledAt = try row.timestamp(1)
        eventID = try row.int64(orNil: 2)
        state = try row.string(3)
        detail = try row.string(orNil: 4)
    }
}
