import Foundation
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// The article lists every table that holds data of users.
@Suite(.database)
struct UserDataTests {
    /// The tables that hold none.
    private static let without: Set<String> = [
        "alarms", "api_requests", "api_secret", "api_tokens", "apps", "audience_failures", "audience_queries", "audits",
        "badge_failures", "campaigns", "caps", "collapse_latest", "definition_keys", "ended_sessions", "equality_paths",
        "event_fates", "feedback_cursors", "feedback_hooks", "gate_stats", "gates", "imports",
        "installation",
        "instances", "leaders", "outcome_codes", "plans", "policies", "providers", "prune_counts", "prune_fuses",
        "rates", "report_counts", "report_keys", "report_stats",
        "rule_versions", "rules", "scheduled_events", "schema_version", "stats", "stats_pending", "targets",
        "timelines",
        "topic_changes", "topics", "traffic", "value_paths",
    ]

    /// Returns the tables that the article lists, with what its column "until" says of them.
    private static func listed() throws -> [(name: String, until: Substring)] {
        let article = try #require(try Documentation.text("SQL").components(separatedBy: "\n## Users' data\n").last)
        return article.split(separator: "\n").filter { $0.hasPrefix("| `") }.flatMap { line in
            let columns = line.split(separator: "|")
            return columns[0].matches(of: /`([a-z_]+)`/).map { (String($0.1), columns[2]) }
        }
    }

    @Test func theArticleNamesEveryTableThatHoldsAny() throws {
        let listed = try Self.listed().map(\.name)
        let tables = try TestDatabase.current.connect().column(
            """
            SELECT relname FROM pg_class
            WHERE relnamespace = 'fanfare'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
            """
        )
        #expect(Set(listed).isDisjoint(with: Self.without))
        #expect(Set(listed).union(Self.without) == Set(tables))
    }

    @Test func theExportReadsWhateverIsForgotten() throws {
        let source = try TestDatabase.current.connect().text(
            "SELECT prosrc FROM pg_proc WHERE oid = 'fanfare.export_user(text, text)'::regprocedure"
        )
        let read = Set(try #require(source).matches(of: /(?:FROM|JOIN) fanfare\.([a-z_]+) AS/).map { String($0.1) })
        let forgotten = try Set(Self.listed().filter { $0.until.contains("`forget_user`") }.map(\.name))
        #expect(forgotten.contains("touches"))
        #expect(forgotten.subtracting(read) == [])
    }

    /// A column with a user's id cannot be in a table that holds no data of users.
    @Test func tablesWithoutUsersHaveNoUserIDs() throws {
        let tables = try TestDatabase.current.connect().column(
            """
            SELECT DISTINCT c.relname FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
            WHERE c.relnamespace = 'fanfare'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
                AND a.attname IN ('user_id', 'only_user', 'test_users', 'payload')
            """
        )
        #expect(Self.without.isDisjoint(with: tables))
    }
}
