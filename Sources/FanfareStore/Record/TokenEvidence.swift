internal import FanfareCore
package import PostgresClient

/// Evidence that a token is unregistered.
///
/// The device is disabled only if it still holds that token, registered no later.
package struct Prune: Equatable {
    package let batchID: Int64
    package let deviceID: Int64
    package let token: String
    package let registeredBefore: Timestamp
    package let reason: String

    package init(batchID: Int64, deviceID: Int64, token: String, registeredBefore: Timestamp, reason: String) {
        self.batchID = batchID
        self.deviceID = deviceID
        self.token = token
        self.registeredBefore = registeredBefore
        self.reason = reason
    }
}

/// Evidence that a token belongs to another environment of its app.
package struct EnvironmentCorrection: Equatable {
    package let batchID: Int64
    package let deviceID: Int64
    package let token: String
    package let from: Int16
    package let to: Int16

    package init(batchID: Int64, deviceID: Int64, token: String, from: Int16, to: Int16) {
        self.batchID = batchID
        self.deviceID = deviceID
        self.token = token
        self.from = from
        self.to = to
    }
}

/// A provider's response that a token is bad, for a push which may have been at fault itself; or a later accepted push,
/// which clears the doubt.
package struct Doubt: Equatable {
    package let batchID: Int64
    package let deviceID: Int64
    package let token: String
    /// The rule of that push; nil after an accepted push.
    package let rule: Int64?

    package init(batchID: Int64, deviceID: Int64, token: String, rule: Int64?) {
        (self.batchID, self.deviceID, self.token, self.rule) = (batchID, deviceID, token, rule)
    }
}

/// The evidence of responses about tokens.
///
/// It is applied in the statement that records the responses, so that a crash cannot separate the two.
package struct TokenEvidence: Equatable {
    package var prunes: [Prune] = []
    package var corrections: [EnvironmentCorrection] = []
    package var doubts: [Doubt] = []

    package init(prunes: [Prune] = [], corrections: [EnvironmentCorrection] = [], doubts: [Doubt] = []) {
        self.prunes = prunes
        self.corrections = corrections
        self.doubts = doubts
    }

    /// Returns the CTEs `pruned`, which returns the devices it disabled, `corrected` and `doubted`.
    ///
    /// - Parameters:
    ///   - batches: the CTE that returns the ids of the batches that this daemon owns.
    ///   - first: the number of the first of the fourteen parameters, one for each column.
    /// - Returns: three common table expressions, without a trailing comma.
    package static func sql(of batches: String, from first: Int) -> String {
        func parameter(_ offset: Int) -> String { "$\(first + offset)" }
        // Never waits for a user's transaction: a locked device keeps its token until the provider reports it again.
        func unlocked(_ ids: String) -> String {
            """
            d.id = ANY (ARRAY(
                        SELECT x.id FROM fanfare.devices AS x WHERE x.id = ANY (\(ids)::bigint[])
                        ORDER BY x.id FOR NO KEY UPDATE SKIP LOCKED))
            """
        }
        return """
            pruned AS (
                UPDATE fanfare.devices AS d SET disabled_at = clock_timestamp(), disabled_reason = p.reason
                FROM unnest(\(parameter(0))::bigint[], \(parameter(1))::bigint[], \(parameter(2))::text[],
                    \(parameter(3))::timestamptz[], \(parameter(4))::text[])
                    AS p (batch_id, device_id, token, registered_before, reason)
                WHERE d.id = p.device_id
                    AND \(unlocked(parameter(1)))
                    AND p.batch_id IN (SELECT id FROM \(batches))
                    AND d.token = p.token AND d.registered_at <= p.registered_before AND d.disabled_at IS NULL
                RETURNING d.id
            ),
            corrected AS (
                UPDATE fanfare.devices AS d SET target_id = p.to_target
                FROM unnest(\(parameter(5))::bigint[], \(parameter(6))::bigint[], \(parameter(7))::text[],
                    \(parameter(8))::smallint[], \(parameter(9))::smallint[])
                    AS p (batch_id, device_id, token, from_target, to_target)
                WHERE d.id = p.device_id
                    AND \(unlocked(parameter(6)))
                    AND p.batch_id IN (SELECT id FROM \(batches))
                    AND d.token = p.token AND d.target_id = p.from_target
            ),
            doubted AS (
                UPDATE fanfare.devices AS d SET doubted_by = p.rule
                FROM unnest(\(parameter(10))::bigint[], \(parameter(11))::bigint[], \(parameter(12))::text[],
                    \(parameter(13))::bigint[]) AS p (batch_id, device_id, token, rule)
                WHERE d.id = p.device_id
                    AND \(unlocked(parameter(11)))
                    AND p.batch_id IN (SELECT id FROM \(batches))
                    AND d.token = p.token AND d.disabled_at IS NULL
            )
            """
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(prunes.map(\.batchID))
        binds.append(prunes.map(\.deviceID))
        binds.append(prunes.map(\.token))
        binds.append(prunes.map(\.registeredBefore))
        binds.append(prunes.map(\.reason))
        binds.append(corrections.map(\.batchID))
        binds.append(corrections.map(\.deviceID))
        binds.append(corrections.map(\.token))
        binds.append(corrections.map(\.from))
        binds.append(corrections.map(\.to))
        binds.append(doubts.map(\.batchID))
        binds.append(doubts.map(\.deviceID))
        binds.append(doubts.map(\.token))
        binds.append(doubts.map(\.rule))
    }

    package static func += (evidence: inout TokenEvidence, other: TokenEvidence) {
        evidence.prunes += other.prunes
        evidence.corrections += other.corrections
        evidence.doubts += other.doubts
    }
}

/// One row of a recording statement's result.
package enum Recorded: Equatable {
    /// A batch was owned by this daemon, and its outcomes are written.
    case written(batch: Int64)
    /// A device was disabled.
    case pruned(device: Int64)

    /// Decodes the columns `batch id` and `device id`, one of which is null.
    package init(_ row: borrowing PostgresRow) throws(PostgresError) {
        if let batch = try row.int64(orNil: 0) {
            self = .written(batch: batch)
        } else {
            self = .pruned(device: try row.int64(1))
        }
    }
}

extension [Recorded] {
    /// The batches that this daemon owned.
    package var batches: Set<Int64> {
        Set(compactMap { if case .written(let id) = $0 { id } else { nil } })
    }

    /// The devices that were disabled.
    package var pruned: [Int64] {
        compactMap { if case .pruned(let id) = $0 { id } else { nil } }
    }
}
