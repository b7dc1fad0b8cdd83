internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Claims whose result was not received: the server may have committed them, or may still do so, but their batches are
/// not sent.
///
/// The owner is alive, so such batches are not rescued. The daemon that claimed them gives them back.
struct DoubtfulClaims {
    /// How long a statement may still run on a session that was lost.
    private static let patience = Micros.minute
    private static let interval = Micros.second

    private var since: [DoubtfulClaim: Microseconds] = [:]
    private var triedAt: Microseconds?

    /// Records a claim; must be called before it is sent.
    mutating func began(_ claim: DoubtfulClaim, at now: Microseconds) {
        since[claim] = now
        triedAt = nil
    }

    /// Removes a claim whose result was received.
    mutating func answered(_ claim: DoubtfulClaim) {
        since[claim] = nil
    }

    /// Returns the claims to give back now, repeatedly, because their statements may still be running.
    func due(at now: Microseconds) -> [DoubtfulClaim] {
        guard triedAt.map({ now - $0 >= Self.interval }) ?? true else { return [] }
        return since.keys.sorted { $0.leaseToken < $1.leaseToken }
    }

    /// Records that the claims were given back, as far as they were committed by then.
    mutating func gaveBack(at now: Microseconds) {
        triedAt = now
        since = since.filter { now - $0.value < Self.patience }
    }

    /// Gives back batches whose claim returned no result.
    ///
    /// - Returns: the number of batches.
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
