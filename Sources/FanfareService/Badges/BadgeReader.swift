internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Runs rules' `badge_sql`, with no permissions other than those of `fanfare_sql`, because it is written by the authors
/// of rules.
///
/// Each query is read-only and timed, inside `fanfare.badges`. It runs on a separate session, whose transaction is
/// rolled back and whose state is discarded after every query. An instance is used by one thread.
final class BadgeReader {
    /// The time limit of one query for one batch, in milliseconds.
    static let patience = 2_000
    /// How long a rule's query is not run after a timeout, so that it does not delay other rules' pushes.
    ///
    /// A query that fails at once is run again for the next batch, because it may have been fixed.
    static let pause = 30 * Micros.second

    private let author: AuthorSession
    private let logger: Logger
    /// The steady time until which a rule version's query is not run.
    private var pausedUntil: [Int32: Microseconds] = [:]
    /// The last failure by rule version, nil if the query works; a version without an entry was not run yet.
    private var failures: [Int32: String?] = [:]
    /// The changes that are not stored in the database yet; see ``takeNews()``.
    private var news: [(ruleVersion: Int32, error: String?)] = []

    /// - Parameters:
    ///   - options: the connection options; the session is opened when a rule first needs it.
    ///   - logger: receives the failures of queries.
    init(options: PostgresOptions, logger: Logger) {
        author = AuthorSession(options)
        self.logger = logger
    }

    /// Reads users' badge counts.
    ///
    /// - Parameters:
    ///   - rule: the rule, possibly without `badge_sql`.
    ///   - users: the users.
    /// - Returns: the counts by user, without users that the query returned no row or NULL for; empty if it failed.
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

    /// Returns the changes since the last call, for `health`; they have to be stored by a session that may write.
    func takeNews() -> [(ruleVersion: Int32, error: String?)] {
        defer { news = [] }
        return news
    }

    /// Records and logs a new failure of a query, or that it works again.
    private func note(_ error: PostgresError?, of rule: LoadedRule) {
        // The server's message quotes the author's own text, and no rows.
        let said = error.map { "\($0)" }
        if let known = failures[rule.id], known == said { return }
        let wasFailing = failures[rule.id].map { $0 != nil } ?? false
        failures[rule.id] = .some(said)
        news.append((rule.id, said))
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
