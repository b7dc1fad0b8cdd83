internal import FanfareConfiguration
package import FanfareCore
internal import FanfareLogging
package import FanfareStore
internal import Logging
package import PostgresClient

/// Keeps this daemon's prune fuses the same as the database's, which all daemons share.
package struct FuseSync {
    private let context: StageContext

    /// Keeps a daemon's fuses.
    ///
    /// - Parameter context: whose.
    package init(context: StageContext) {
        self.context = context
    }

    /// Stores the fuses that blew here, then takes over what is stored.
    package func synchronize(on connection: PostgresConnection) throws(PostgresError) {
        for (key, strength) in context.fuses.unstored {
            _ = try connection.runReturningCount(BlowFuse(key: key, strength: strength))
            context.fuses.stored(key)
        }
        let changes = context.fuses.take(try connection.run(StoredFuses()))
        for key in changes.blown {
            context.logger.error(
                "too many invalid tokens; pruning is stopped until an operator resumes it",
                metadata: metadata(key)
            )
        }
        for key in changes.closed {
            context.logger.notice("pruning was resumed by an operator", metadata: metadata(key))
        }
    }

    /// Judges the answers that all daemons got together.
    package func judge(on connection: PostgresConnection) throws(PostgresError) {
        context.fuses.observe(try connection.answers(of: nil))
        try synchronize(on: connection)
    }

    private func metadata(_ key: FuseKey) -> Logger.Metadata {
        .init([.app: "\(key.app)", .environment: "\(key.environment)"])
    }
}

extension PostgresConnection {
    /// What all daemons were answered lately, by whom.
    ///
    /// - Parameter apps: about whose devices; nil for all.
    /// - Returns: the sums by provider.
    /// - Throws: what the server says.
    package func answers(of apps: Set<String>?) throws(PostgresError) -> [AnswerSource: PruneCounts] {
        var sums: [AnswerSource: PruneCounts] = [:]
        for row in try run(RecentAnswers(apps: apps)) { sums[row.source] = row.counts }
        return sums
    }
}
