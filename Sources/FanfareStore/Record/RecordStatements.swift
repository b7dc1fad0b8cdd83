package import FanfareCore
package import PostgresClient

/// The data written for a batch, and the fence through which it is written.
package struct BatchRecord {
    package let id: Int64
    package let leaseToken: Int64
    package let outcomes: [UInt8]
    /// The columns by which it is found once closed; nil if it is found by its event.
    package var index: LogIndex?
    /// Why deliveries were refused, by event, as JSON; nil if none were.
    package var details: String?

    package init(id: Int64, leaseToken: Int64, outcomes: [UInt8], index: LogIndex? = nil, details: String? = nil) {
        self.id = id
        self.leaseToken = leaseToken
        self.outcomes = outcomes
        self.index = index
        self.details = details
    }
}

/// Saves the outcomes so far of batches in flight, and applies their evidence about tokens.
///
/// Batches that this daemon no longer owns are not changed.
package struct Checkpoint: PostgresStatement {
    package static let name = "checkpoint"
    package static let sql = """
        WITH
        saved AS (
            UPDATE fanfare.batches AS b SET outcomes = r.outcomes
            FROM unnest($2::bigint[], $3::bigint[], $4::bytea[]) AS r (id, lease_token, outcomes)
            WHERE b.id = r.id AND b.owner = $1 AND b.lease_token = r.lease_token
            RETURNING b.id
        ),
        \(TokenEvidence.sql(of: "saved", from: 5))
        SELECT id, NULL::bigint FROM saved
        UNION ALL
        SELECT NULL, id FROM pruned
        """

    package let owner: Int32
    package let batches: [BatchRecord]
    package var evidence = TokenEvidence()

    package init(owner: Int32, batches: [BatchRecord], evidence: TokenEvidence = TokenEvidence()) {
        self.owner = owner
        self.batches = batches
        self.evidence = evidence
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(owner)
        binds.append(batches.map(\.id))
        binds.append(batches.map(\.leaseToken))
        binds.append(batches.map(\.outcomes))
        evidence.bind(to: &binds)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Recorded {
        try Recorded(row)
    }
}

/// Deliveries of a closing batch that are retried in a batch of their own.
package struct RetryBatch: Equatable {
    package let parentID: Int64
    package let target: Int16
    /// The history by which the next attempt is decided.
    package let history: RetryHistory
    /// Whether it waits among the retries, for their budget.
    package let isRetry: Bool
    /// The delay from now, in database time.
    package let delayMicroseconds: Int64
    package let deviceIDs: [Int64]
    /// The event of each device; nil if the parent has one event for all.
    package let eventIDs: [Int64]?

    /// Creates a batch for the next attempts of some deliveries.
    ///
    /// - Parameters:
    ///   - parentID: the batch that closes.
    ///   - target: the deliveries' target.
    ///   - history: the earlier attempts.
    ///   - isRetry: whether they wait among the retries; nil to derive it from the history.
    ///   - delayMicroseconds: the delay from now.
    ///   - deviceIDs: the devices.
    ///   - eventIDs: the event of each device; nil if the parent has one event for all.
    package init(
        parentID: Int64,
        target: Int16,
        history: RetryHistory,
        isRetry: Bool? = nil,
        delayMicroseconds: Int64,
        deviceIDs: [Int64],
        eventIDs: [Int64]?
    ) {
        self.parentID = parentID
        self.target = target
        self.history = history
        self.isRetry = isRetry ?? !history.isMove
        self.delayMicroseconds = delayMicroseconds
        self.deviceIDs = deviceIDs
        self.eventIDs = eventIDs
    }
}

/// How often one outcome occurred in one closing batch.
package struct OutcomeTally: Equatable {
    package let batchID: Int64
    package let outcome: UInt8
    package let deliveries: Int64

    package init(batchID: Int64, outcome: UInt8, deliveries: Int64) {
        self.batchID = batchID
        self.outcome = outcome
        self.deliveries = deliveries
    }
}

/// Closes batches in one statement: moves them from the queue to the log, writes retries into new batches behind the
/// same gates, applies evidence about tokens, adds to the counters, and stores feedback for hooks.
///
/// Nothing of this happens for a batch that this daemon no longer owns.
package struct CloseBatches: PostgresStatement {
    package static let name = "close_batches"
    package static let sql = """
        WITH
        closing AS (
            DELETE FROM fanfare.batches AS b
            USING unnest($2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bigint[], $7::bytea[], $8::text[])
                AS r (id, lease_token, outcomes, first_event, last_event, device_marks, details)
            WHERE b.id = r.id AND b.owner = $1 AND b.lease_token = r.lease_token
            RETURNING b.id, b.parent_id, b.event_id, b.created_at, b.rule_version, b.target_id, b.lane, b.attempt,
                b.device_ids, b.event_ids, b.gate_id, b.due_at, r.outcomes, r.first_event, r.last_event, r.device_marks,
                r.details
        ),
        logged AS (
            INSERT INTO fanfare.batch_log (day, id, parent_id, event_id, created_at, rule_version, target_id, lane, attempt,
                first_device, last_device, device_ids, event_ids, outcomes, first_event, last_event, device_marks, details)
            SELECT fanfare.ring_day(id), id, parent_id, event_id, created_at, rule_version, target_id, lane, attempt,
                device_ids[1], device_ids[cardinality(device_ids)], device_ids, event_ids, outcomes, first_event, last_event,
                device_marks, details::jsonb
            FROM closing
        ),
        retried AS (
            INSERT INTO fanfare.batches (parent_id, event_id, rule_version, target_id, lane, attempt, history, is_retry,
                not_before, device_ids, event_ids, gate_id, due_at)
            SELECT c.id, c.event_id, c.rule_version, r.target_id, c.lane, c.attempt + 1, r.history, r.is_retry,
                clock_timestamp() + r.delay * interval '1 microsecond',
                r.device_ids::bigint[], r.event_ids::bigint[], c.gate_id, c.due_at
            FROM unnest($9::bigint[], $10::smallint[], $11::int[], $12::boolean[], $13::bigint[], $14::text[], $15::text[])
                AS r (parent_id, target_id, history, is_retry, delay, device_ids, event_ids)
            JOIN closing AS c ON c.id = r.parent_id
        ),
        \(TokenEvidence.sql(of: "closing", from: 16)),
        counted AS (
            INSERT INTO fanfare.stats_pending (rule_version, target_id, outcome, deliveries, gate_id)
            SELECT c.rule_version, c.target_id, t.outcome, sum(t.deliveries), c.gate_id
            FROM unnest($30::bigint[], $31::smallint[], $32::bigint[]) AS t (batch_id, outcome, deliveries)
            JOIN closing AS c ON c.id = t.batch_id
            GROUP BY c.rule_version, c.target_id, c.gate_id, t.outcome
        ),
        \(FeedbackNote.sql(of: "closing", from: "unnest($30::bigint[], $31::smallint[]) AS t (batch_id, outcome)"))
        SELECT id, NULL::bigint FROM closing
        UNION ALL
        SELECT NULL, id FROM pruned
        """

    package let owner: Int32
    package let batches: [BatchRecord]
    package let retries: [RetryBatch]
    package var evidence = TokenEvidence()
    package let tallies: [OutcomeTally]

    package init(
        owner: Int32,
        batches: [BatchRecord],
        retries: [RetryBatch],
        evidence: TokenEvidence = TokenEvidence(),
        tallies: [OutcomeTally]
    ) {
        self.owner = owner
        self.batches = batches
        self.retries = retries
        self.evidence = evidence
        self.tallies = tallies
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(owner)
        binds.append(batches.map(\.id))
        binds.append(batches.map(\.leaseToken))
        binds.append(batches.map(\.outcomes))
        binds.append(batches.map { $0.index?.firstEvent })
        binds.append(batches.map { $0.index?.lastEvent })
        binds.append(batches.map { $0.index?.marks.bytes })
        binds.append(batches.map(\.details))
        binds.append(retries.map(\.parentID))
        binds.append(retries.map(\.target))
        binds.append(retries.map(\.history.encoded))
        binds.append(retries.map(\.isRetry))
        binds.append(retries.map(\.delayMicroseconds))
        binds.append(retries.map { Self.literal($0.deviceIDs) })
        binds.append(retries.map { $0.eventIDs.map(Self.literal) } as [String?])
        evidence.bind(to: &binds)
        binds.append(tallies.map(\.batchID))
        binds.append(tallies.map { Int16($0.outcome) })
        binds.append(tallies.map(\.deliveries))
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Recorded {
        try Recorded(row)
    }

    /// PostgreSQL has no arrays of arrays of different lengths, so each is passed as text; few batches have retries.
    private static func literal(_ ids: [Int64]) -> String {
        "{\(ids.map(String.init).joined(separator: ","))}"
    }
}

/// Releases a daemon's batches: those it had not begun when it was stopped, could not prepare, or could not send before
/// their data became too old.
///
/// The outcomes known so far are saved with that, and their evidence about tokens is applied.
package struct ReleaseBatches: PostgresStatement {
    package static let name = "release_batches"
    package static let sql = """
        WITH
        released AS (
            UPDATE fanfare.batches AS b SET owner = NULL, lease_token = NULL,
                not_before = clock_timestamp() + $5 * interval '1 microsecond', outcomes = coalesce(nullif(r.outcomes, ''), b.outcomes)
            FROM unnest($2::bigint[], $3::bigint[], $4::bytea[]) AS r (id, lease_token, outcomes)
            WHERE b.id = r.id AND b.owner = $1 AND b.lease_token = r.lease_token
            RETURNING b.id
        ),
        \(TokenEvidence.sql(of: "released", from: 6))
        SELECT id, NULL::bigint FROM released
        UNION ALL
        SELECT NULL, id FROM pruned
        """

    package let owner: Int32
    package let batches: [BatchRecord]
    /// The time before which they must not be claimed.
    package var delay: Microseconds = 0
    package var evidence = TokenEvidence()

    package init(
        owner: Int32,
        batches: [BatchRecord],
        delay: Microseconds = 0,
        evidence: TokenEvidence = TokenEvidence()
    ) {
        self.owner = owner
        self.batches = batches
        self.delay = delay
        self.evidence = evidence
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(owner)
        binds.append(batches.map(\.id))
        binds.append(batches.map(\.leaseToken))
        binds.append(batches.map(\.outcomes))
        binds.append(delay)
        evidence.bind(to: &binds)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Recorded {
        try Recorded(row)
    }
}
