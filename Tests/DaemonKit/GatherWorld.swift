import FanfareCore
import PostgresClient
import Threading

@testable import FanfareCampaigns
@testable import FanfareProviders
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

extension World {
    /// Has the rules checked that were put.
    func judge() throws {
        try RuleChecker(logger: context.logger).check(on: connection)
    }

    /// Emits what is due of what was gathered.
    ///
    /// - Parameter time: by when, as SQL; what is gathered for a day at most is due a day later.
    func emitDigests(at time: String = "now() + interval '1 day'") throws {
        let now = try connection.number("SELECT (extract(epoch FROM \(time)) * 1000000)::bigint")
        let scheduler = Scheduler(context: context, running: RunningQuery())
        while try scheduler.emitDigests(on: connection, at: Timestamp(microseconds: now)) == 0 {}
    }

    /// What left under a rule's name and is planned: a column of its events, oldest first.
    func digests(_ rule: String, _ column: String) throws -> [String] {
        try connection.column("SELECT \(column) FROM fanfare.events WHERE type = 'digest.shop.\(rule)' ORDER BY id")
    }
}
