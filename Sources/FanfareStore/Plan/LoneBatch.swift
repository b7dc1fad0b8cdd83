package import FanfareCore
internal import PostgresClient

/// A batch that was claimed by the round that planned it, with all the data for sending it.
package struct LoneBatch {
    package let claimed: ClaimedBatch
    package let event: EventRow
    /// The devices, in the batch's order.
    package let devices: [DeviceRow]
}

/// SQL of ``PlanRound`` for a round that takes a single event, whose batches are claimed with planning.
enum LoneBatchSQL {
    /// Returns the CTE `queued`, whose batches are claimed at once by `$8` with the lease token `$9`, and before it the
    /// CTE `lone`, with the places of `$7` if the round is such a one, else null.
    ///
    /// More deliveries than one person's devices are left to the claimer, which reads them in parts and outside a
    /// transaction; so are batches behind a gate, open or not.
    ///
    /// - Parameters:
    ///   - batchSize: the SQL for the most deliveries of one batch.
    ///   - isPaced: whether rates of apps and providers apply.
    /// - Returns: both texts, without a trailing comma.
    static func queued(batchSize: String, isPaced: Bool) -> String {
        let isClaimed = "gate_id = 0 AND target_id * 4 + lane = ANY ((SELECT places FROM lone)::int[])"
        let queued = queueDeliveriesSQL(
            batchSize: batchSize,
            isPaced: isPaced,
            owner: "CASE WHEN \(isClaimed) THEN $8::int END",
            leaseToken: "CASE WHEN \(isClaimed) THEN $9::bigint END",
            returning: """
                id, rule_version, target_id, lane, owner, lease_token,
                CASE WHEN owner IS NOT NULL THEN device_ids END AS device_ids
                """
        )
        return """
            lone AS MATERIALIZED (
                SELECT CASE
                    WHEN (SELECT count(*) FROM taken) = 1 AND (SELECT count(*) FROM deliveries) <= 20 THEN $7::int[]
                END AS places
            ),
            \(queued)
            """
    }

    /// The batches as rows of a round's result, with their event and devices.
    ///
    /// Both have been read here already. Separate statements would cost another round trip, and would run on cold
    /// caches as planning does.
    static let rows = """
        SELECT 4::smallint, q.id, q.rule_version, json_build_object(
            'target', q.target_id, 'lane', q.lane, 'lease_token', q.lease_token,
            'deliveries', cardinality(q.device_ids),
            'event', t.id, 'type', t.type, 'key', t.key, 'replay_of', t.replay_of, 'trace', encode(t.trace, 'hex'), 'payload', t.payload::text,
            'created_at', extract(epoch FROM t.created_at) * 1000000,
            'planned_at', extract(epoch FROM statement_timestamp()) * 1000000,
            'ttl', extract(epoch FROM t.ttl)::float8::text,
            'devices', (
                SELECT json_agg(json_build_object(
                    'id', d.id, 'token', d.token, 'target', d.target_id, 'kind', d.kind,
                    'registered_at', extract(epoch FROM d.registered_at) * 1000000,
                    'locale', d.locale, 'p256dh', d.p256dh, 'auth', d.auth, 'user', d.user_id,
                    'doubted_by', d.doubted_by) ORDER BY u.position)
                FROM unnest(q.device_ids) WITH ORDINALITY AS u (id, position)
                CROSS JOIN LATERAL (SELECT * FROM fanfare.devices AS x WHERE x.id = u.id OFFSET 0) AS d))::text
        FROM queued AS q CROSS JOIN taken AS t WHERE (SELECT places FROM lone) IS NOT NULL AND q.owner IS NOT NULL
        """
}

extension LoneBatch {
    /// Decodes a row of ``LoneBatchSQL/rows``; nil for values that it cannot hold, such as an infinite time.
    ///
    /// - Parameters:
    ///   - id: the batch's id.
    ///   - ruleVersion: the batch's rule version.
    ///   - json: the other columns.
    package init?(id: Int64, ruleVersion: Int32, json: String) {
        guard let row = try? JSONValue(parsing: json),
            let target = row.integer("target"), let lane = row.integer("lane"),
            let leaseToken = row.integer("lease_token"), let eventID = row.integer("event"),
            let type = row["type"]?.stringValue, let payload = row["payload"]?.stringValue,
            let createdAt = row.timestamp("created_at"), let plannedAt = row.timestamp("planned_at"),
            let members = row["devices"]?.arrayValue
        else { return nil }
        let devices = members.compactMap(DeviceRow.init(json:))
        let deviceIDs = members.compactMap { $0.integer("id") }
        guard let deliveries = row.integer("deliveries"), devices.count == deliveries, deviceIDs.count == deliveries
        else { return nil }
        self.devices = devices
        event = EventRow(
            id: eventID,
            type: type,
            key: row["key"]?.stringValue,
            createdAt: createdAt,
            plannedAt: plannedAt,
            ttlSeconds: row["ttl"]?.stringValue.flatMap { Double($0) },
            payload: payload,
            // A cancelled event would not have been planned.
            isCancelled: false,
            replayOf: row.integer("replay_of"),
            trace: row["trace"]?.stringValue.flatMap { TraceContext(hexadecimal: $0) }
        )
        claimed = ClaimedBatch(
            id: id,
            leaseToken: leaseToken,
            target: Int16(clamping: target),
            queue: SendQueue(lane: Lane(rawValue: Int16(clamping: lane)) ?? .normal, isRetry: false),
            gate: 0,
            ruleVersion: ruleVersion,
            attempt: 1,
            history: .none,
            eventID: eventID,
            eventIDs: [],
            deviceIDs: deviceIDs,
            outcomes: [],
            // Only the claimer's floors use it, and the claimer never sees this batch.
            notBefore: .minusInfinity,
            dueAt: nil,
            claimedAt: plannedAt
        )
    }
}

extension DeviceRow {
    /// Decodes a device of ``LoneBatchSQL/rows``, which was enabled when it was selected.
    fileprivate init?(json: JSONValue) {
        guard let token = json["token"]?.stringValue, let target = json.integer("target"),
            let kind = json["kind"]?.stringValue, let registeredAt = json.timestamp("registered_at")
        else { return nil }
        self.init(
            token: token,
            target: Int16(clamping: target),
            kind: kind,
            isEnabled: true,
            registeredAt: registeredAt,
            locale: json["locale"]?.stringValue,
            p256dh: json["p256dh"]?.stringValue,
            auth: json["auth"]?.stringValue,
            userID: json["user"]?.stringValue,
            doubtedBy: json.integer("doubted_by").flatMap(Int32.init(exactly:))
        )
    }
}

extension JSONValue {
    fileprivate func integer(_ key: String) -> Int64? { self[key]?.numberValue?.integer }

    /// Reads a time in microseconds since 1970.
    fileprivate func timestamp(_ key: String) -> Timestamp? { integer(key).map(Timestamp.init(microseconds:)) }
}

/// What a round claims in the same statement if it takes a single event: batches of these places.
package struct LoneClaim {
    /// A place where a batch waits: the first attempts of a lane of a target.
    package struct Place {
        package let target: Int16
        package let lane: Lane

        package init(target: Int16, lane: Lane) {
            self.target = target
            self.lane = lane
        }

        /// The number by which the statement knows it.
        package var number: Int32 { Int32(target) * 4 + Int32(lane.rawValue) }
    }

    package let owner: Int32
    package let leaseToken: Int64
    package let places: [Place]
    /// The steady time before its round.
    package let beganAt: Microseconds

    package init(owner: Int32, leaseToken: Int64, places: [Place], beganAt: Microseconds) {
        self.owner = owner
        self.leaseToken = leaseToken
        self.places = places
        self.beganAt = beganAt
    }

    /// The claim that would have to be released.
    package var claim: DoubtfulClaim { DoubtfulClaim(owner: owner, leaseToken: leaseToken) }
}
