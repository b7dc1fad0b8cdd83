internal import FanfareConfiguration
package import FanfareCore
internal import FanfareLogging
package import FanfareStore
package import Logging
package import PostgresClient

/// Synchronizes this daemon's prune fuses with the database, which all daemons share.
package struct FuseSync {
    private let fuses: PruneFuses
    private let logger: Logger

    /// Creates the synchronization.
    ///
    /// - Parameters:
    ///   - fuses: this daemon's fuses.
    ///   - logger: receives a line for each fuse that blew or was closed.
    package init(_ fuses: PruneFuses, logger: Logger) {
        (self.fuses, self.logger) = (fuses, logger)
    }

    /// Stores the fuses that blew here, then applies the stored ones and logs changes.
    package func synchronize(on connection: PostgresConnection) throws(PostgresError) {
        for (key, strength) in fuses.unstored {
            _ = try connection.runReturningCount(BlowFuse(key: key, strength: strength))
            fuses.stored(key)
        }
        let changes = fuses.take(try connection.run(SQL.storedFuses()))
        for key in changes.blown {
            logger.error(
                "too many invalid tokens; pruning is stopped until an operator resumes it",
                metadata: metadata(key)
            )
        }
        for key in changes.closed {
            logger.notice("pruning was resumed by an operator", metadata: metadata(key))
        }
    }

    /// Updates the fuses from the answers to all daemons, then synchronizes.
    package func judge(on connection: PostgresConnection) throws(PostgresError) {
        fuses.observe(try connection.answers(of: nil))
        try synchronize(on: connection)
    }

    private func metadata(_ key: FuseKey) -> Logger.Metadata {
        .init([.app: "\(key.app)", .environment: "\(key.environment)"])
    }
}

extension PostgresConnection {
    /// Returns the recent answers to all daemons.
    ///
    /// - Parameter apps: the apps to include; nil for all.
    /// - Returns: the sums by provider, app and environment.
    /// - Throws: errors of the server.
    package func answers(of apps: Set<String>?) throws(PostgresError) -> [AnswerSource: PruneCounts] {
        var sums: [AnswerSource: PruneCounts] = [:]
        for row in try run(RecentAnswers(apps: apps)) { sums[row.source] = row.counts }
        return sums
    }
}
