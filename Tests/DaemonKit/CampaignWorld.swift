import FanfareCore
import PostgresClient
import Threading

@testable import FanfareCampaigns
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

extension World {
    /// Stores a campaign of app `shop` to everyone, with `schedule` and other JSON members.
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

    /// Takes stored campaigns into force, completes runs, fires until nothing is due, and checks the resulting rules.
    func schedule(at now: String = "now()") throws {
        let time = try connection.timestamp(now)
        try CampaignUpkeep(logger: context.logger).takeTurn(on: connection, at: time)
        let scheduler = self.scheduler()
        while try scheduler.fire(on: connection, at: time) == 0 {}
        try RuleChecker(logger: context.logger).check(on: connection)
    }

    /// Runs the queries of fired campaigns, as a daemon with its own scheduler does.
    ///
    /// - Parameters:
    ///   - owner: the daemon's number.
    ///   - patience: the time limit of a query in microseconds.
    ///   - body: runs meanwhile; by default it waits until each query has run or is left for a retry.
    func read(
        owner: Int32 = 1,
        patience: Microseconds = QueryReader.patience,
        _ body: (World) throws -> Void = { world in
            try world.connection.waitUntil(
                "SELECT NOT EXISTS (SELECT FROM fanfare.runs WHERE state = 'querying' AND (owner IS NOT NULL OR read_at IS NULL))"
            )
        }
    ) throws {
        context.lease.begin(owner: owner, startedAt: Clocks.steady, databaseNow: Clocks.wall)
        let running = RunningQuery()
        let stages: [any Stage] = [
            QueryReader(context: context, bell: bells.read, running: running, patience: patience),
            scheduler(running),
        ]
        let threads = stages.map { stage in WorkerThread.start(name: stage.name) { stage.run() } }
        defer {
            for stage in stages { stage.stop() }
            for thread in threads { thread.join() }
        }
        try body(self)
    }

    /// Returns the scheduled times and states of a campaign's runs: `2026-01-05 08:00 running`.
    func runs(_ name: String) throws -> [String] {
        try connection.column(
            """
            SELECT to_char(o.scheduled_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') || ' ' || o.state
            FROM fanfare.runs AS o JOIN fanfare.campaigns AS c ON c.id = o.campaign_id
            WHERE c.name = '\(name)' ORDER BY o.scheduled_at
            """
        )
    }

    /// Moves a campaign's next time into the past.
    func missed(_ name: String, _ time: String) throws {
        _ = try connection.query(
            "UPDATE fanfare.campaigns SET next_at = next_at - $2::interval WHERE name = $1",
            name,
            time
        )
    }

    /// Starts a campaign of app `shop`.
    func start(_ name: String) throws {
        _ = try connection.query("SELECT fanfare.start_campaign('shop', $1)", name)
    }

    /// Pauses, resumes or aborts a campaign; returns whether this changed anything.
    func tell(_ name: String, _ what: String) throws -> Bool {
        try connection.text("SELECT fanfare.\(what)_campaign('shop', $1)", name) == "t"
    }

    /// Returns the states of its runs, without tests.
    func states(_ name: String) throws -> [String] {
        try connection.column(
            "SELECT o.state FROM fanfare.runs AS o JOIN fanfare.campaigns AS c ON c.id = o.campaign_id WHERE c.name = $1 AND o.test_users IS NULL ORDER BY o.id",
            name
        )
    }

    /// Returns a column of a campaign as text.
    func campaign(_ name: String, _ column: String) throws -> String? {
        try connection.text("SELECT \(column) FROM fanfare.campaigns WHERE name = $1 AND dropped_at IS NULL", name)
    }
}

extension PostgresConnection {
    func timestamp(_ sql: String) throws -> Timestamp {
        Timestamp(microseconds: try number("SELECT (extract(epoch FROM (\(sql))::timestamptz) * 1000000)::bigint"))
    }
}
