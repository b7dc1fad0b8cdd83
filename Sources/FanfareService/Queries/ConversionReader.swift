internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Executes rules' `conversion_sql`, each about once a minute, on a session of its own.
final class ConversionReader {
    /// The time limit of one query, in milliseconds.
    private static let patience = 2_000
    /// The time between two looks for queries that are due.
    private static let interval = 5 * Micros.second
    /// The time after which a turn starts no more queries, because maintenance has other work.
    private static let share = Micros.second

    private let logger: Logger
    private let author: AuthorSession
    private var dueAt: Microseconds = 0
    /// The rules whose query failed when it was last executed.
    private var failing: Set<Int32> = []

    /// Creates a reader; its session is not open yet.
    ///
    /// - Parameter context: what every stage needs.
    init(context: StageContext) {
        logger = context.logger
        author = AuthorSession(context.database.queries("conversion-sql"))
    }

    /// Executes the queries that are due, for about a second.
    ///
    /// The query that was executed longest ago is first.
    ///
    /// - Parameters:
    ///   - connection: the session of maintenance, outside a transaction.
    ///   - now: the database's time.
    /// - Throws: errors of the maintenance session, never those of a query.
    func takeTurn(on connection: PostgresConnection, at now: Timestamp) throws(PostgresError) {
        guard Clocks.steady >= dueAt else { return }
        dueAt = Clocks.steady + Self.interval
        let end = Clocks.steady + Self.share
        while Clocks.steady < end {
            guard let due = try connection.run(SQL.dueConversions()).first else { return author.close() }
            try execute(due, on: connection, at: now)
        }
    }

    private func execute(
        _ due: DueConversions,
        on connection: PostgresConnection,
        at now: Timestamp
    ) throws(PostgresError) {
        let alarm = "conversion_sql/\(due.app)/\(due.rule)"
        let found: [FoundConversion]
        do throws(PostgresError) {
            found = try author.run { session throws(PostgresError) in
                try session.conversions(due, within: Self.patience)
            }
        } catch {
            let words = error.isCancelled ? "takes longer than \(Self.patience / 1000) s" : error.message
            _ = try connection.run(SQL.noteConversions(due.pathID, now, alarm, words))
            if failing.insert(due.pathID).inserted { tell(due, error) }
            return
        }
        let statement = SQL.storeConversions(due.pathID, found.map(\.person), found.map(\.at), found.map(\.amount), now)
        _ = try connection.run(statement)
        // Another daemon may have raised the alarm.
        _ = try connection.run(SQL.noteConversions(due.pathID, now, alarm, nil))
        if failing.remove(due.pathID) != nil { tell(due, nil) }
    }

    private func tell(_ due: DueConversions, _ error: PostgresError?) {
        var metadata = Logger.Metadata([.app: "\(due.app)", .ruleName: "\(due.rule)"])
        guard let error else { return logger.notice("conversion_sql works again", metadata: metadata) }
        metadata[.error] = "\(error)"
        metadata[.sqlState] = error.sqlState.map { "\($0)" }
        logger.warning("conversion_sql failed; it is executed again in a minute", metadata: metadata)
    }
}
