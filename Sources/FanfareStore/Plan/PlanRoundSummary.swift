package import FanfareCore
package import PostgresClient

/// A rule that matched an event, but needs more than one statement: its audience or its collapse id must be rendered.
package struct DeferredMatch: Equatable {
    package let eventID: Int64
    package let ruleVersion: Int32
    /// The event as JSON text: `type`, `key`, `payload`; for a replay `replay_of` and `only_user`, with a trace
    /// `trace_id`, for recipients' own time `wall`.
    package let event: String

    /// The id of the event's trace; nil if it has none.
    ///
    /// Parses ``event``, so it is only for log messages about errors.
    package var traceID: String? { (try? JSONValue(parsing: event))?["trace_id"]?.stringValue }
}

/// An event that ended when it was planned, for the log.
package struct EndedEvent: Equatable {
    /// How many of a round are logged.
    static let limit = 10

    package let eventID: Int64
    package let type: String
    /// The number of the event's fate.
    package let fate: Int32
    /// The reason; nil if the fate says it.
    package let detail: String?
}

/// The result of one round.
package struct PlanRoundSummary {
    package var taken = 0
    package var batches = 0
    package var last: OutboxPlace?
    package var snapshot: OutboxSnapshot?
    /// The number of events by the number of their fate.
    package var fates: [Int32: Int64] = [:]
    package var deferred: [DeferredMatch] = []
    /// The batches of a lone event, claimed already; nil for one that could not be decoded.
    package var lone: [LoneBatch?] = []
    /// The rule versions that events wait for, as a text that is only compared; nil if there are none.
    package var unjudged: String?
    /// The events that were moved to the quarantine.
    package var quarantine: [OutboxSize] = []
    /// Some of the events that were refused, matched no rule, or repeat a key.
    package var ended: [EndedEvent] = []

    package init(_ parts: [PlanRoundPart]) {
        for part in parts {
            switch part {
            case .totals(let taken, let batches, let snapshot):
                self.taken = Int(taken)
                self.batches = Int(batches)
                self.snapshot = OutboxSnapshot(snapshot)
            case .last(let place): last = place
            case .unjudged(let versions): unjudged = versions
            case .quarantined(let event): quarantine.append(event)
            case .ended(let event): ended.append(event)
            case .fate(let fate, let events): fates[fate] = events
            case .deferred(let match): deferred.append(match)
            case .lone(let batch): lone.append(batch)
            }
        }
    }
}

/// One row of a round's result, of one of several kinds.
package enum PlanRoundPart {
    case totals(taken: Int64, batches: Int32, snapshot: String)
    case last(OutboxPlace)
    case fate(Int32, events: Int64)
    case deferred(DeferredMatch)
    case lone(LoneBatch?)
    case unjudged(String)
    case quarantined(OutboxSize)
    case ended(EndedEvent)

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> PlanRoundPart {
        switch try row.int16(0) {
        case 0: .totals(taken: try row.int64(1), batches: try row.int32(2), snapshot: try row.string(3))
        case 1: .last(OutboxPlace(xid: try row.string(3), id: try row.int64(1)))
        case 2: .fate(try row.int32(2), events: try row.int64(1))
        case 3:
            .deferred(
                DeferredMatch(
                    eventID: try row.int64(1),
                    ruleVersion: try row.int32(2),
                    event: try row.string(3)
                )
            )
        case 5: .unjudged(try row.string(3))
        case 6: .quarantined(try quarantined(row))
        case 7: .ended(try ended(row))
        default:
            .lone(
                LoneBatch(id: try row.int64(1), ruleVersion: try row.int32(2), json: try row.string(3))
            )
        }
    }

    /// Decodes a row whose text has the type in the first line and the detail after it.
    private static func ended(_ row: borrowing PostgresRow) throws(PostgresError) -> EndedEvent {
        let words = try row.string(3).split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        return EndedEvent(
            eventID: try row.int64(1),
            type: String(words[0]),
            fate: try row.int32(2),
            detail: words.count > 1 && !words[1].isEmpty ? String(words[1]) : nil
        )
    }

    /// Decodes a row whose text has the trace id, or nothing, then a space and the type.
    private static func quarantined(_ row: borrowing PostgresRow) throws(PostgresError) -> OutboxSize {
        let words = try row.string(3).split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        return OutboxSize(
            eventID: try row.int64(1),
            type: String(words[words.count - 1]),
            size: try row.int32(2),
            traceID: words[0].isEmpty ? nil : String(words[0])
        )
    }
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

/// A batch that was claimed by the round that planned it, with all the data for sending it.
package struct LoneBatch {
    package let claimed: ClaimedBatch
    package let event: EventRow
    /// The devices, in the batch's order.
    package let devices: [DeviceRow]

    /// Decodes a row of ``PlanRound``; nil for values that it cannot hold, such as an infinite time.
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
            hasRetractions: row["retracted"] == .bool(true),
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
    /// Decodes a device of a lone batch, which was enabled when it was selected.
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
            doubtedBy: json.integer("doubted_by").flatMap(Int32.init(exactly:)),
            isInstallation: json["fid"] == .bool(true)
        )
    }
}

extension JSONValue {
    fileprivate func integer(_ key: String) -> Int64? { self[key]?.numberValue?.integer }

    /// Reads a time in microseconds since 1970.
    fileprivate func timestamp(_ key: String) -> Timestamp? { integer(key).map(Timestamp.init(microseconds:)) }
}
