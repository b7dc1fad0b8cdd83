import FanfareCore

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// The database server: sessions that can be lost, session locks, and the rows on disk.
///
/// Statements are atomic and in order. Time passes between a statement's sending, its effect and its response, and any
/// fault may happen in between.
final class Server {
    let world: Simulation
    /// The time from 1970 to the steady clock's zero.
    static let epoch: Microseconds = 1_800_000_000 * Micros.second
    private(set) var rows = Rows()
    /// The rows that a server has after it lost power.
    private var onDisk = Rows()
    private(set) var isUp = true
    private var sessions: Set<Int> = []
    private var lastSession = 0
    /// The session that holds each daemon's lock.
    private var locks: [Int32: Int] = [:]
    /// The last time at which power was lost.
    private(set) var lostPowerAt: Microseconds = .min / 2
    /// The probability that a statement loses its session.
    var sessionLoss = 0.0
    /// Called after every effect.
    var changed: () -> Void = {}

    init(world: Simulation) {
        self.world = world
        rows.now = Self.epoch
    }

    var now: Microseconds { Self.epoch + world.now }

    /// Changes rows at once, from outside a daemon.
    func change<Result>(flushed: Bool = true, _ work: (inout Rows) -> Result) -> Result {
        rows.now = now
        let result = work(&rows)
        if flushed { onDisk = rows }
        changed()
        return result
    }

    // MARK: Sessions

    func connect() -> Int? {
        guard isUp else { return nil }
        lastSession += 1
        sessions.insert(lastSession)
        return lastSession
    }

    func end(_ session: Int) {
        sessions.remove(session)
        locks = locks.filter { $0.value != session }
    }

    /// Takes a lock for a session, unless another session holds it.
    func tryLock(_ key: Int32, for session: Int) -> Bool {
        if let holder = locks[key], holder != session { return false }
        locks[key] = session
        return true
    }

    func unlock(_ key: Int32, of session: Int) {
        if locks[key] == session { locks[key] = nil }
    }

    /// Runs a statement.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - flushed: whether its commit waits for the disk.
    ///   - mayFail: whether this session may be lost at random.
    ///   - work: the statement.
    ///   - answered: called with the result; nil if the session was lost, before or after the effect.
    func run<Result>(
        on session: Int,
        flushed: Bool,
        mayFail: Bool,
        _ work: @escaping (inout Rows) -> Result,
        answered: @escaping (Result?) -> Void
    ) {
        world.after(latency()) { [self] in
            var result: Result?
            let isLost = mayFail && world.chance.happens(sessionLoss)
            if isLost && world.chance.happens(0.5) { end(session) }
            if isUp && sessions.contains(session) { result = change(flushed: flushed, work) }
            if isLost {
                end(session)
                result = nil
            }
            world.after(latency()) { [self] in
                answered(isUp && sessions.contains(session) ? result : nil)
            }
        }
    }

    private func latency() -> Microseconds {
        let slow = world.chance.happens(0.01)
        return world.chance.time(slow ? 10 * Micros.millisecond...200 * Micros.millisecond : 50...800)
    }

    // MARK: Faults

    /// Stops the server, and starts it again after a while.
    func restart(losingPower: Bool) {
        isUp = false
        sessions = []
        locks = [:]
        if losingPower {
            lostPowerAt = world.now
            let before = rows
            rows = onDisk
            // Sequences and transaction ids never go back.
            (rows.lastID, rows.nextXID, rows.lastInstance) = (before.lastID, before.nextXID, before.lastInstance)
            (rows.pruned, rows.lastGate) = (before.pruned, before.lastGate)
        }
        let open = rows.open
        for event in rows.outbox where open.contains(event.xid) {
            for gate in rows.gates(of: event.id) { rows.gates[gate] = nil }
            rows.runs[event.id] = nil
        }
        rows.outbox.removeAll { open.contains($0.xid) }
        rows.cancels.removeAll { open.contains($0.xid) }
        rows.open = []
        onDisk = rows
        world.after(world.chance.time(100 * Micros.millisecond...4 * Micros.second)) { [self] in isUp = true }
    }

    /// Models PostgreSQL's WAL writer, several times a second.
    func writeAhead() {
        onDisk = rows
        world.after(200 * Micros.millisecond) { [self] in writeAhead() }
    }

    /// Returns the devices that were disabled since the last call.
    func takePruned() -> [Int64] {
        defer { rows.pruned = [] }
        return rows.pruned
    }
}
