import FanfareCore
import PostgresClient

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// A model of the rows of queues and logs, as far as the promises need them, and of the daemon's statements.
///
/// It is a value, so that a copy is what a server that crashed had on its disk. `HistoryTests` compares it with the
/// real statements.
struct Rows {
    /// An event in the outbox.
    struct Waiting: Equatable {
        let xid: UInt64
        let id: Int64
        let createdAt: Microseconds
        let type: String
        let key: String?
        let ttl: Microseconds?
        let users: [String]
        /// The events of a digest.
        var gathered: [Int64] = []
    }

    /// A planned event.
    struct Event: Equatable {
        let waiting: Waiting
        let fate: EventFate
        let plannedAt: Microseconds
    }

    /// The progress of expanding an audience.
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
        /// Whether it is in the queue of retries.
        var isRetry = false
        /// The gate; 0 for none.
        var gate: Int32 = 0
        /// The time from which its deliveries' time to live runs.
        var dueAt: Microseconds?
        /// The time until which it waits since it was created; nil for a planned batch.
        var waitsUntil: Microseconds?
        let deviceIDs: [Int64]
        var outcomes: [UInt8] = []
        /// The owner that marked its deliveries as attempted; nil for none.
        var marker: Int32?

        /// Returns the event of one delivery.
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
    /// The outbox, in order of transaction and id.
    var outbox: [Waiting] = []
    var keys: [String: Int64] = [:]
    var events: [Int64: Event] = [:]
    var plans: [Plan] = []
    var batches: [Int64: Batch] = [:]
    var log: [Int64: Batch] = [:]
    var devices: [Int64: Device] = [:]
    /// The end of each daemon's lease.
    var instances: [Int32: Microseconds] = [:]
    var cancels: [Cancel] = []
    var policy: Policy?
    /// The users' grants, oldest first.
    var grants: [String: [Grant]] = [:]
    var gates: [Int32: GateRow] = [:]
    var lastGate: Int32 = 0
    var rates: [Int32: Rate] = [:]
    /// The gates of rules that have one of their own.
    var ruleGates: [Int32: Int32] = [:]
    /// The runs of campaigns, by event.
    var runs: [Int64: Run] = [:]
    /// The open digests, by user.
    var openDigests: [String: DigestDefinition] = [:]
    /// The open transactions.
    var open: Set<UInt64> = []
    var nextXID: UInt64 = 100
    var lastID: Int64 = 0
    var lastInstance: Int32 = 0
    /// The devices disabled since this was last emptied.
    var pruned: [Int64] = []
    /// The batches written by an owner without the claim; must stay empty.
    var unfenced: [Int64] = []

    /// Returns an unused id.
    mutating func newID() -> Int64 {
        lastID += 1
        return lastID
    }

    /// The result of `pg_current_snapshot()`.
    var snapshot: String {
        let open = open.sorted()
        return "\(open.first ?? nextXID):\(nextXID):\(open.map(String.init).joined(separator: ","))"
    }

    /// Whether no work is left.
    var isIdle: Bool { outbox.isEmpty && plans.isEmpty && batches.isEmpty && open.isEmpty && openDigests.isEmpty }

    // MARK: Applications

    /// Begins a writing transaction.
    mutating func begin() -> UInt64 {
        defer { nextXID += 1 }
        open.insert(nextXID)
        return nextXID
    }

    /// Models `fanfare.emit`, in a transaction.
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

    /// Models `fanfare.cancel`, in a transaction.
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

    /// Models `fanfare.register_device` for a known device.
    mutating func register(_ id: Int64, token: String? = nil) {
        if let token { devices[id]?.token = token }
        devices[id]?.registeredAt = now
        devices[id]?.disabledReason = nil
    }

    mutating func commit(_ xid: UInt64) { open.remove(xid) }

    /// Returns whether a cancellation of the event is visible.
    func isCancelled(_ event: Int64) -> Bool {
        cancels.contains { $0.fact.eventID == event && !open.contains($0.xid) }
    }
}
