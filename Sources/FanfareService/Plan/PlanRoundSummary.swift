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
    var last: OutboxPlace?
    var snapshot: OutboxSnapshot?
    /// Events by the number of their fate.
    var fates: [Int32: Int64] = [:]
    var deferred: [DeferredMatch] = []
    /// The batches of a lone event, which are claimed already; nil for one that could not be read.
    var lone: [LoneBatch?] = []
    /// Which rule versions events wait for, in a form that only tells whether they are the same; nil if there are none.
    var unjudged: String?
    /// What was moved to the side queue.
    var aside: [OutboxSize] = []

    init(_ parts: [PlanRoundPart]) {
        for part in parts {
            switch part {
            case .totals(let taken, let batches, let snapshot):
                self.taken = Int(taken)
                self.batches = Int(batches)
                self.snapshot = OutboxSnapshot(snapshot)
            case .last(let place): last = place
            case .unjudged(let versions): unjudged = versions
            case .aside(let event): aside.append(event)
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
    case last(OutboxPlace)
    case fate(Int32, events: Int64)
    case deferred(DeferredMatch)
    case lone(LoneBatch?)
    case unjudged(String)
    case aside(OutboxSize)

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> PlanRoundPart {
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
        case 6: .aside(OutboxSize(eventID: try row.int64(1), type: try row.string(3), size: try row.int32(2)))
        default:
            .lone(
                LoneBatch(id: try row.int64(1), ruleVersion: try row.int32(2), json: try row.string(3))
            )
        }
    }
}
