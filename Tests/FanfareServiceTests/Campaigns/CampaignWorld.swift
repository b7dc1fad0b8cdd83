import FanfareCore
import PostgresClient

@testable import FanfareCampaigns
@testable import FanfareProviders
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

extension World {
    /// Puts a campaign of app `shop` to everyone: `schedule` and what else is given, as JSON members.
    ///
    /// - Returns: its version.
    @discardableResult
    func put(campaign name: String, schedule: String? = nil, _ more: String = "") throws -> Int64 {
        let to = more.contains(#""to""#) ? "" : #", "to": {"everyone": true}"#
        let message = more.contains(#""message""#) ? "" : #", "message": {"notification": {"title": "T"}}"#
        let members = (schedule.map { #", "schedule": \#($0)"# } ?? "") + (more.isEmpty ? "" : ", " + more)
        let json = #"{"app": "shop", "name": "\#(name)"\#(to)\#(message)\#(members)}"#
        return try connection.number("SELECT fanfare.put_campaign($1::jsonb)", json)
    }

    /// Lets the leader's scheduler work until nothing is due, and has the rules checked that it brought.
    func schedule(at now: String = "now()") throws {
        let time = try connection.timestamp(now)
        while try !Scheduler(logger: context.logger).takeTurn(on: connection, at: time) {}
        try RuleChecker(logger: context.logger).check(on: connection)
    }

    /// What became of a campaign's times: `2026-01-05 08:00 running`.
    func occurrences(_ name: String) throws -> [String] {
        try connection.column(
            """
            SELECT to_char(o.scheduled_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') || ' ' || o.state
            FROM fanfare.occurrences AS o JOIN fanfare.campaigns AS c ON c.id = o.campaign_id
            WHERE c.name = '\(name)' ORDER BY o.scheduled_at
            """
        )
    }

    /// Has a campaign's next time lie in the past, as if so much time had gone by since.
    func missed(_ name: String, _ time: String) throws {
        _ = try connection.query(
            "UPDATE fanfare.campaigns SET next_at = next_at - $2::interval WHERE name = $1",
            name,
            time
        )
    }

    /// A column of a campaign, as text.
    func campaign(_ name: String, _ column: String) throws -> String? {
        try connection.text("SELECT \(column) FROM fanfare.campaigns WHERE name = $1 AND dropped_at IS NULL", name)
    }
}

extension PostgresConnection {
    fileprivate func timestamp(_ sql: String) throws -> Timestamp {
        Timestamp(microseconds: try number("SELECT (extract(epoch FROM (\(sql))::timestamptz) * 1000000)::bigint"))
    }
}
