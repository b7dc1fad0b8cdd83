import FanfareCore
import PostgresClient

@testable import FanfareProviders
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The rows of the queues and logs, as far as the promises need them, and what the daemon's statements do to them.
///
/// A value: what a server that crashed had on its disk is a copy. `HistoryTests` holds it to the real statements.
struct Rows {
    /// An event that waits to be planned.
    struct Waiting: Equatable {
        let xid: UInt64
        let id: Int64
        let createdAt: Microseconds
        let type: String
        let key: String?
        let ttl: Microseconds?
        let users: [String]
        /// The events that a digest stands for.
        var gathered: [Int64] = []
    }

    /// An event that was planned.
    struct Event: Equatable {
        let waiting: Waiting
        let fate: EventFate
        let plannedAt: Microseconds
    }

    /// How far an audience is walked.
    struct Plan: Equatable {
        let eventID: Int64
        let ruleVersion: Int32
        let lane: Int16
        var cursor: Int64
        let lastDevice: Int64
        var advancedAt: Microseconds
    }

    struct Batch: Equatable {
        let id: Int64
        var parentID: Int64?
        var eventID: Int64?
        var eventIDs: [Int64]?
        var notBefore: Microseconds
        var leaseToken: Int64?
        var owner: Int32?
        let ruleVersion: Int32
        let target: Int16
        let lane: Int16
        var attempt: Int16 = 1
        var history: Int32 = 0
        /// Whether it waits among the retries.
        var isRetry = false
        /// 0 for none.
        var gate: Int32 = 0
        /// Whence its deliveries' time to live runs.
        var dueAt: Microseconds?
        /// Until when it waits since it was made; nil for what was planned.
        var waitsUntil: Microseconds?
        let deviceIDs: [Int64]
        var outcomes: [UInt8] = []
        /// Who marked its deliveries as attempted; nil if nobody did.
        var marker: Int32?

        /// The event of one delivery.
        func eventID(at position: Int) -> Int64 { eventID ?? eventIDs?[position] ?? 0 }
    }

    struct Device: Equatable {
        let id: Int64
        let user: String
        var token: String
        var target: Int16
        var registeredAt: Microseconds
        var disabledReason: String?
        var zone: String?
    }

    struct Cancel: Equatable {
        let xid: UInt64
        let fact: CancelFact
    }

    /// The server's clock, in microseconds since 1970; set before each statement.
    var now: Microseconds = 0
    /// In order of transaction and id.
    var outbox: [Waiting] = []
    var keys: [String: Int64] = [:]
    var events: [Int64: Event] = [:]
    var plans: [Plan] = []
    var batches: [Int64: Batch] = [:]
    var log: [Int64: Batch] = [:]
    var devices: [Int64: Device] = [:]
    /// The lease's end of each daemon.
    var instances: [Int32: Microseconds] = [:]
    var cancels: [Cancel] = []
    var policy: Policy?
    /// What users were granted, oldest first.
    var grants: [String: [Grant]] = [:]
    var gates: [Int32: GateRow] = [:]
    var lastGate: Int32 = 0
    var rates: [Int32: Rate] = [:]
    /// The gates of rules that have one of their own.
    var ruleGates: [Int32: Int32] = [:]
    /// The gates and times of events that are broadcasts of a campaign.
    var runs: [Int64: Run] = [:]
    /// What is gathered for digests, by user.
    var openDigests: [String: DigestDefinition] = [:]
    /// Transactions that are open.
    var open: Set<UInt64> = []
    var nextXID: UInt64 = 100
    var lastID: Int64 = 0
    var lastInstance: Int32 = 0
    /// Devices that were disabled since this was last emptied.
    var pruned: [Int64] = []
    /// Batches that were written by somebody who did not own them under that claim; none may ever be.
    var unfenced: [Int64] = []

    /// An id that no other row has.
    mutating func newID() -> Int64 {
        lastID += 1
        return lastID
    }

    /// What `pg_current_snapshot()` would say.
    var snapshot: String {
        let open = open.sorted()
        return "\(open.first ?? nextXID):\(nextXID):\(open.map(String.init).joined(separator: ","))"
    }

    /// Whether nothing is left to do.
    var isIdle: Bool { outbox.isEmpty && plans.isEmpty && batches.isEmpty && open.isEmpty && openDigests.isEmpty }

    // MARK: Applications

    /// Begins a transaction that writes.
    mutating func begin() -> UInt64 {
        defer { nextXID += 1 }
        open.insert(nextXID)
        return nextXID
    }

    /// `fanfare.emit`, in a transaction.
    @discardableResult
    mutating func emit(
        _ type: String,
        users: [String],
        key: String? = nil,
        ttl: Microseconds? = nil,
        gathered: [Int64] = [],
        in xid: UInt64
    ) -> Int64 {
        let id = newID()
        var row = Waiting(xid: xid, id: id, createdAt: now, type: type, key: key, ttl: ttl, users: users)
        row.gathered = gathered
        let place = outbox.firstIndex { ($0.xid, $0.id) > (xid, id) } ?? outbox.endIndex
        outbox.insert(row, at: place)
        return id
    }

    /// `fanfare.cancel`, in a transaction.
    mutating func cancel(event id: Int64, in xid: UInt64) {
        let fact = CancelFact(
            id: newID(),
            eventID: id,
            type: nil,
            key: nil,
            createdAt: Timestamp(microseconds: now),
            number: Int64(EventID(rawValue: id).sequence)
        )
        cancels.append(Cancel(xid: xid, fact: fact))
    }

    /// `fanfare.register_device` of a device that is known.
    mutating func register(_ id: Int64, token: String? = nil) {
        if let token { devices[id]?.token = token }
        devices[id]?.registeredAt = now
        devices[id]?.disabledReason = nil
    }

    mutating func commit(_ xid: UInt64) { open.remove(xid) }

    /// Whether a cancellation of the event is visible.
    func isCancelled(_ event: Int64) -> Bool {
        cancels.contains { $0.fact.eventID == event && !open.contains($0.xid) }
    }
}
