internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Claims whose answer did not come: the server may have made them, or may make them yet, while nobody sends what they took.
///
/// Their owner lives, so nobody rescues them: whoever asked gives them back.
struct DoubtfulClaims {
    /// How long a statement may still be at work on a session that was lost.
    private static let patience = Micros.minute
    private static let interval = Micros.second

    private var since: [DoubtfulClaim: Microseconds] = [:]
    private var triedAt: Microseconds?

    /// A claim is about to be sent: to be called before, not after.
    mutating func began(_ claim: DoubtfulClaim, at now: Microseconds) {
        since[claim] = now
        triedAt = nil
    }

    /// What it took is known.
    mutating func answered(_ claim: DoubtfulClaim) {
        since[claim] = nil
    }

    /// The claims to give back now; a statement that is still at work is met by trying again.
    func due(at now: Microseconds) -> [DoubtfulClaim] {
        guard triedAt.map({ now - $0 >= Self.interval }) ?? true else { return [] }
        return since.keys.sorted { $0.leaseToken < $1.leaseToken }
    }

    /// They were given back, as far as they were made by then.
    mutating func gaveBack(at now: Microseconds) {
        triedAt = now
        since = since.filter { now - $0.value < Self.patience }
    }

    /// Gives back what was claimed without our being told.
    ///
    /// - Returns: how many batches.
    @discardableResult
    mutating func settle(on connection: PostgresConnection, logger: Logger) throws(PostgresError) -> Int {
        let claims = due(at: Clocks.steady)
        guard !claims.isEmpty else { return 0 }
        let count = try connection.runReturningCount(ReleaseClaims(claims: claims))
        gaveBack(at: Clocks.steady)
        if count > 0 {
            logger.warning(
                "batches whose claim was not answered were given back",
                metadata: .init([.count: "\(count)"])
            )
        }
        return count
    }
}
