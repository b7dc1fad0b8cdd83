internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Runs rules' `badge_sql`: whoever may write rules wrote it, so it gets nothing but what was granted to `fanfare_sql`.
///
/// Read-only and timed, inside `fanfare.badges`, on a session of its own whose transaction is rolled back and whose state
/// is discarded after every query. Used by one thread.
final class BadgeReader {
    /// What one query for one batch may take, in milliseconds.
    static let patience = 2_000
    /// How long a rule whose query took all of that is left alone, so that it holds up nobody else's pushes.
    ///
    /// What fails at once is run again for the next batch: it may have been mended.
    static let pause = 30 * Micros.second

    private let author: AuthorSession
    private let logger: Logger
    /// Until when a rule version's query is not run again (steady time).
    private var pausedUntil: [Int32: Microseconds] = [:]
    /// By rule version what its query last failed with, nil where it works; others were not run yet.
    private var failures: [Int32: String?] = [:]
    /// What the database does not know yet: see ``takeNews()``.
    private var news: [StoreBadgeFailure] = []

    /// - Parameters:
    ///   - options: how to connect; opened when a rule first needs it.
    ///   - logger: told of queries that fail.
    init(options: PostgresOptions, logger: Logger) {
        author = AuthorSession(options)
        self.logger = logger
    }

    /// Asks for users' badge counts.
    ///
    /// - Parameters:
    ///   - rule: a rule, perhaps without `badge_sql`.
    ///   - users: whose.
    /// - Returns: by user; those are missing for whom the query gave no row or NULL, and all of them if it failed.
    func counts(of rule: LoadedRule, for users: Set<ExactText>) -> [ExactText: Int64] {
        guard let sql = rule.compiled.definition.badgeSQL, !users.isEmpty,
            pausedUntil[rule.id].map({ $0 <= Clocks.steady }) ?? true
        else { return [:] }
        pausedUntil[rule.id] = nil
        do throws(PostgresError) {
            let counts = try author.run { connection throws(PostgresError) in
                try connection.badgeCounts(sql, of: users.sorted().map(\.text), within: Self.patience)
            }
            note(nil, of: rule)
            return counts
        } catch {
            if error.isCancelled || error.isConnectionLost { pausedUntil[rule.id] = Clocks.steady + Self.pause }
            note(error, of: rule)
            return [:]
        }
    }

    /// What changed since this was last asked, for `health`: to be stored by a session that may write.
    func takeNews() -> [StoreBadgeFailure] {
        defer { news = [] }
        return news
    }

    /// Tells what a query failed with, or that it works, once.
    private func note(_ error: PostgresError?, of rule: LoadedRule) {
        // As the server says it: it quotes the author's own text, and no rows.
        let said = error.map { "\($0)" }
        if let known = failures[rule.id], known == said { return }
        let wasFailing = failures[rule.id].map { $0 != nil } ?? false
        failures[rule.id] = .some(said)
        news.append(StoreBadgeFailure(ruleVersion: rule.id, error: said))
        var metadata = Logger.Metadata([
            .app: "\(rule.compiled.definition.app)", .ruleName: "\(rule.compiled.definition.name)",
            .ruleVersion: "\(rule.version)",
        ])
        guard let error else {
            if wasFailing { logger.notice("badge_sql works again", metadata: metadata) }
            return
        }
        metadata[.error] = "\(error)"
        metadata[.sqlState] = error.sqlState.map { "\($0)" }
        if pausedUntil[rule.id] != nil { metadata[.retryMilliseconds] = "\(Self.pause / Micros.millisecond)" }
        logger.warning("badge_sql failed; pushes go out without its badge", metadata: metadata)
    }

    /// Closes the session, if it is open.
    func close() { author.close() }
}
