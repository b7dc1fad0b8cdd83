import FanfareCore
import PostgresClient

@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

extension World {
    /// Stores an app's policy.
    func put(policy: String, app: String = "shop") throws {
        _ = try connection.query("SELECT fanfare.put_policy($1, $2::jsonb)", app, policy)
    }

    /// Registers devices of a user in bulk.
    func devices(_ count: Int, of user: String, app: String = "shop", provider: String = "apns") throws {
        _ = try connection.query(
            """
            SELECT count(fanfare.register_device($1, $2, encode(sha256((g || gen_random_uuid()::text)::bytea), 'hex'), $3))
            FROM generate_series(1, $4::int) AS g
            """,
            app,
            provider,
            user,
            String(count)
        )
    }

    /// Returns the batch requests of a daemon that serves all targets.
    func batchRequests(gates: [Gate] = []) throws -> BatchRequests {
        BatchRequests(
            room: SenderRoster.empty.room,
            targets: try connection.run(SQL.allTargets()).sorted { $0.id < $1.id },
            gates: gates,
            rates: AppRates(try connection.run(SQL.liveRates()))
        )
    }

    /// Claims due batches of a pace.
    ///
    /// - Parameters:
    ///   - pace: the pace.
    ///   - list: the batch requests.
    ///   - now: a time in 2026 in seconds.
    ///   - owner: the owner of the claim.
    /// - Returns: the batches, and when the next ones are available.
    func claim(
        _ pace: Pace,
        of list: BatchRequests,
        at now: Double,
        owner: Int32 = 1
    ) throws -> (batches: [ClaimedBatch], wait: Double?) {
        let requests = list.paces.filter { $0.value == pace }.keys.flatMap { place in
            [false, true].map { isRetry in
                BatchRequest(
                    gate: place.gate,
                    target: place.target,
                    queue: SendQueue(lane: place.lane, isRetry: isRetry),
                    count: 8,
                    floor: .minusInfinity
                )
            }
        }
        let rows = try connection.run(
            ClaimPaced(
                gate: pace.gate,
                rates: pace.rates,
                requests: requests,
                owner: owner,
                leaseToken: 1,
                now: Timestamp(microseconds: 1_767_225_600_000_000 + Int64(now * 1_000_000))
            )
        )
        return (rows.compactMap(\.batch), rows.first?.wait.map { Double($0) / 1_000_000 })
    }
}
