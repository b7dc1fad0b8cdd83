internal import PostgresClient

/// A rule that took an event, and of which more is to do than one statement can: its audience or its collapse id must
/// be rendered.
struct DeferredMatch: Equatable {
    let eventID: Int64
    let ruleVersion: Int32
    /// The event as JSON text: `type`, `key`, `payload`.
    let event: String
}

/// What one round did.
struct PlanRoundSummary {
    var taken = 0
    var batches = 0
    var lastXID: String?
    var lastID: Int64 = 0
    var snapshot: OutboxSnapshot?
    /// Events by the number of their fate.
    var fates: [Int32: Int64] = [:]
    var deferred: [DeferredMatch] = []
    /// The batches of a lone event, which are claimed already; nil for one that could not be read.
    var lone: [LoneBatch?] = []

    init(_ parts: [PlanRoundPart]) {
        for part in parts {
            switch part {
            case .totals(let taken, let batches, let snapshot):
                self.taken = Int(taken)
                self.batches = Int(batches)
                self.snapshot = OutboxSnapshot(snapshot)
            case .last(let xid, let id):
                lastXID = xid
                lastID = id
            case .fate(let fate, let events): fates[fate] = events
            case .deferred(let match): deferred.append(match)
            case .lone(let batch): lone.append(batch)
            }
        }
    }
}

/// One row of a round's answer, which has several kinds of them.
enum PlanRoundPart {
    case totals(taken: Int64, batches: Int32, snapshot: String)
    case last(xid: String, id: Int64)
    case fate(Int32, events: Int64)
    case deferred(DeferredMatch)
    case lone(LoneBatch?)

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> PlanRoundPart {
        switch try row.int16(0) {
        case 0: .totals(taken: try row.int64(1), batches: try row.int32(2), snapshot: try row.string(3))
        case 1: .last(xid: try row.string(3), id: try row.int64(1))
        case 2: .fate(try row.int32(2), events: try row.int64(1))
        case 3:
            .deferred(
                DeferredMatch(
                    eventID: try row.int64(1),
                    ruleVersion: try row.int32(2),
                    event: try row.string(3)
                )
            )
        default:
            .lone(
                LoneBatch(id: try row.int64(1), ruleVersion: try row.int32(2), json: try row.string(3))
            )
        }
    }
}
