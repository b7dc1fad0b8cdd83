import FanfareCore
import Logging
import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The permissions and limits of `badge_sql`.
@Suite(.database)
struct BadgeReaderTests {
    private let connection: PostgresConnection

    init() throws {
        connection = try TestDatabase.current.connect()
        try connection.execute(
            """
            CREATE TABLE public.unread (user_id text, n bigint);
            INSERT INTO public.unread VALUES ('a', 3), ('b', -1), ('c', 5000000000), ('d"\\,', 4), ('e', NULL);
            GRANT SELECT ON public.unread TO fanfare_sql;
            """
        )
    }

    /// Runs a query as a rule's `badge_sql`.
    private func counts(_ sql: String, for users: Set<ExactText> = ["a"]) throws -> [ExactText: Int64] {
        let rule: JSONValue = [
            "name": "r", "app": "shop", "event": "e", "to": ["everyone": true], "badge_sql": .string(sql),
            "message": ["notification": ["title": "T"]],
        ]
        let loaded = LoadedRule(id: 1, ruleID: 1, version: 1, compiled: try CompiledRule(json: rule))
        let reader = BadgeReader(
            options: PostgresOptions(url: TestDatabase.current.url),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        defer { reader.close() }
        return reader.counts(of: loaded, for: users)
    }

    @Test(arguments: [
        "SELECT user_id, n FROM public.unread WHERE user_id = ANY ($1)",
        "SELECT user_id, sum(n) FROM public.unread WHERE user_id = ANY ($1::text[]) GROUP BY 1 -- by user\n;",
    ])
    func usersGetTheirCounts(sql: String) throws {
        let counts = try counts(sql, for: ["a", "b", "c", "d\"\\,", "e", "f"])
        #expect(counts == ["a": 3, "c": 2_147_483_647, "d\"\\,": 4], "a count below zero is none")
    }

    /// Ids that differ only in Unicode normalization are different users.
    @Test func usersAreToldApartByTheirBytes() throws {
        let sql = "SELECT u, length(u) FROM unnest($1) AS u"
        #expect(try counts(sql, for: ["\u{E9}", "e\u{301}"]) == ["\u{E9}": 1, "e\u{301}": 2])
    }

    /// The daemon keeps one row for each requested user, even if the query returns many others.
    @Test func rowsOfOthersAreLeftOnTheServer() throws {
        let sql =
            "SELECT CASE WHEN g % 2 = 0 THEN 'a' ELSE repeat('b', 100) END, 1 FROM generate_series(1, 1000) AS g WHERE $1 IS NOT NULL"
        #expect(try counts(sql) == ["a": 1])
        let connection = try TestDatabase.current.connect()
        try connection.execute("BEGIN READ ONLY")
        #expect(try connection.query("SELECT * FROM fanfare.badges($1, '{a,c}')", sql).rows.count == 1)
    }

    /// Each query would change or reveal data if it ran with the rights of the daemon or of the schema's owner.
    @Test(arguments: [
        "SELECT token, 1 FROM fanfare.devices WHERE $1 IS NOT NULL",
        "SELECT 'a', 1 FROM fanfare.emit('x') WHERE $1 IS NOT NULL",
        "WITH w AS (DELETE FROM public.unread RETURNING 1) SELECT 'a', 1 FROM w WHERE $1 IS NOT NULL",
        "SELECT 'a', 1 WHERE set_config('role', 'fanfare_daemon', false) <> $1[1]",
        "SELECT 'a', 1 WHERE set_config('session_authorization', 'postgres', false) <> $1[1]",
        "SELECT 'a', 1 WHERE set_config('transaction_read_only', 'off', true) <> $1[1]",
        "SELECT 'a', 1) AS q (id, count); DELETE FROM public.unread; SELECT ($1",
        "SELECT 'a', 1 FROM pg_sleep(60) WHERE $1 IS NOT NULL",
        "SELECT user_id FROM public.unread WHERE user_id = ANY ($1)", "no SQL at all: $1",
        "SELECT 'a', 'many' WHERE $1 IS NOT NULL", "SELECT 'a', n FROM unread WHERE $1 IS NOT NULL",
    ])
    func nothingElseIsAllowed(sql: String) throws {
        #expect(try counts(sql).isEmpty)
        #expect(try connection.number("SELECT count(*) FROM public.unread") == 5)
        #expect(try connection.number("SELECT count(*) FROM fanfare.outbox") == 0)
    }

    @Test func whatASessionKeepsIsDiscarded() throws {
        let sql = """
            SELECT u, CASE WHEN set_config('work_mem', '1MB', false) <> '' AND pg_try_advisory_lock(7)
                AND current_setting('work_mem') <> '64kB' THEN 1 END FROM unnest($1) AS u
            """
        #expect(try counts(sql) == ["a": 1])
        #expect(try connection.text("SELECT pg_try_advisory_lock(7)") == "t")
    }

    /// Creates a reader, a rule with a query, and a record of the log.
    private func reader(_ sql: String) throws -> (reader: BadgeReader, rule: LoadedRule, log: Locked<[String]>) {
        let rule: JSONValue = [
            "name": "r", "app": "shop", "event": "e", "to": ["everyone": true], "badge_sql": .string(sql),
            "message": ["notification": ["title": "T"]],
        ]
        let loaded = LoadedRule(id: 1, ruleID: 1, version: 1, compiled: try CompiledRule(json: rule))
        let log = Locked<[String]>([])
        let logger = Logger(label: "test") { _ in LineRecorder(lines: log) }
        return (BadgeReader(options: PostgresOptions(url: TestDatabase.current.url), logger: logger), loaded, log)
    }

    @Test func aQueryThatFailsIsToldOnceAndRunAgainForTheNextBatch() throws {
        let (reader, rule, log) = try reader("SELECT user_id, n FROM public.unread WHERE user_id = ANY ($1)")
        defer { reader.close() }
        #expect(reader.counts(of: rule, for: ["a"]) == ["a": 3])
        #expect(reader.takeNews().map(\.error) == [nil], "what an earlier daemon stored goes")
        try connection.execute("REVOKE SELECT ON public.unread FROM fanfare_sql")
        for _ in 0..<3 { #expect(reader.counts(of: rule, for: ["a"]).isEmpty) }
        #expect(log.withLock(\.count) == 1, "said once")
        #expect(log.withLock { $0.first?.contains("42501") ?? false })
        let news = reader.takeNews()
        #expect(news.count == 1 && news.first?.ruleVersion == 1 && news.first?.error?.contains("42501") == true)
        try connection.execute("GRANT SELECT ON public.unread TO fanfare_sql")
        #expect(reader.counts(of: rule, for: ["a"]) == ["a": 3], "mended: the next batch has its badges")
        #expect(reader.takeNews().map(\.error) == [nil])
        #expect(log.withLock(\.last)?.contains("works again") == true)
        #expect(reader.takeNews().isEmpty)
    }

    /// The query took two seconds, during which no other batch was prepared.
    @Test func aQueryThatTakesTooLongIsLeftAloneForAWhile() throws {
        let (reader, rule, log) = try reader("SELECT 'a', 1 FROM pg_sleep(60) WHERE $1 IS NOT NULL")
        defer { reader.close() }
        for _ in 0..<20 { #expect(reader.counts(of: rule, for: ["a"]).isEmpty) }
        #expect(log.withLock(\.count) == 1)
        #expect(reader.takeNews().first?.error != nil)
    }
}

/// A log handler that keeps all lines.
private struct LineRecorder: LogHandler {
    let lines: Locked<[String]>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        lines.withLock { $0.append("\(event.message) \(event.metadata ?? [:])") }
    }
}
