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
    /// Checks the stored rules.
    func judge() throws {
        try RuleChecker(logger: context.logger).check(on: connection)
    }

    /// Emits the open digests that are due.
    ///
    /// - Parameter time: the time as SQL; a digest of up to a day is due one day later.
    func emitDigests(at time: String = "now() + interval '1 day'") throws {
        let now = try connection.number("SELECT (extract(epoch FROM \(time)) * 1000000)::bigint")
        let scheduler = self.scheduler()
        while try scheduler.emitDigests(on: connection, at: Timestamp(microseconds: now)) == 0 {}
    }

    /// Returns a column of the planned digest events of a rule, oldest first.
    func digests(_ rule: String, _ column: String) throws -> [String] {
        try connection.column("SELECT \(column) FROM fanfare.events WHERE type = 'digest.shop.\(rule)' ORDER BY id")
    }
}
