internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Plans quarantined events one by one; an error is then caused by the event itself, which is refused.
///
/// An event that takes too long is put behind the others and gets more time the next time. A jsonpath can take forever,
/// a machine that stood still only makes an event look like that, and neither must delay the other events.
struct Quarantine {
    /// The time limits of an event's first, second and further attempts, in milliseconds; after the last one it is
    /// refused.
    var timeouts: [Int64] = [200, 1000, 3000]
    /// The number of additional rules of an event that extend its limit by a millisecond.
    private static let rulesPerMillisecond: Int64 = 50
    /// The lock timeout is below every time limit, because a wait that reached the limit would be blamed on the event.
    private static let settings = SessionSettings.nestedLoops.setting("lock_timeout", to: "150ms")
    /// After an event that took longer than `above`, planning pauses for three times as long, up to `longest`, to free
    /// the processor.
    private static let rest = (above: 50 * Micros.millisecond, longest: Micros.second)
    /// The most events that are remembered because they took too long.
    private static let memory = 1000

    var planning: Planning
    private let stop: StopSignal
    /// The events that took too long, with the number of attempts.
    private var tries: [OutboxPlace: Int] = [:]
    /// The events that failed in this turn for reasons outside of them, such as a lock or a missing table.
    private var waiting: [OutboxPlace] = []

    init(_ planning: Planning, stop: StopSignal = StopSignal()) {
        (self.planning, self.stop) = (planning, stop)
    }

    private var context: StageContext { planning.context }

    /// Plans all quarantined events.
    ///
    /// - Parameter connection: a connection outside a transaction.
    /// - Throws: errors of the server that are not caused by an event's data, such as 55P03 for a lock or 42P01 for a
    ///   missing table. The event stays in the quarantine and is tried again.
    mutating func plan(on connection: PostgresConnection) throws(PostgresError) {
        waiting = []
        var failure: PostgresError?
        while !stop.isStopped, let event = try next(on: connection) {
            context.pulses.beat(QuarantinePlanner.name)
            let start = Clocks.steady
            do throws(PostgresError) {
                try plan(event, on: connection)
            } catch {
                guard error.code == .server || error.isCancelled else { throw error }
                failure = failure ?? error
                waiting.append(event)
            }
            let cost = Clocks.steady - start
            if cost > Self.rest.above { context.linger(.microseconds(min(3 * cost, Self.rest.longest))) }
        }
        if let failure { throw failure }
    }

    /// Returns the first event that was not tried yet, otherwise the one that was tried least often.
    private mutating func next(on connection: PostgresConnection) throws(PostgresError) -> OutboxPlace? {
        let known = waiting + tries.keys
        if let fresh = try connection.run(SQL.nextQuarantinedEvent(known.map(\.id))).first { return fresh }
        return tries.filter { !waiting.contains($0.key) }.min { ($0.value, $0.key.id) < ($1.value, $1.key.id) }?.key
    }

    private mutating func plan(_ event: OutboxPlace, on connection: PostgresConnection) throws(PostgresError) {
        let tried = tries[event] ?? 0
        // Every attempt lost the session.
        guard tried < timeouts.count else {
            tries[event] = nil
            return try refuse(event, because: .lostWithIt, on: connection)
        }
        do throws(PostgresError) {
            try commit(event, within: timeouts[tried], on: connection)
            tries[event] = nil
        } catch {
            if error.isIdleInTransaction, tries.count < Self.memory { tries[event] = tried + 1 }
            if error.isCancelled, tried + 1 < timeouts.count, tries.count < Self.memory {
                tries[event] = tried + 1
                return
            }
            guard error.isDataError || error.isCancelled else { throw error }
            tries[event] = nil
            try refuse(event, because: error, on: connection)
        }
    }

    private func commit(
        _ event: OutboxPlace,
        within timeout: Int64,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        let (round, counts) = try connection.transaction { connection throws(PostgresError) in
            let rules = try connection.run(SQL.quarantinedEventRules(event.xid, event.id)).first ?? 0
            let timeout = timeout + rules / Self.rulesPerMillisecond
            try connection.setLocally(Self.settings.setting("statement_timeout", to: String(timeout)))
            let statement = SQL.planQuarantinedEvent(event.xid, event.id, Int32(context.settings.batchSize))
            let round = PlanRoundSummary(try connection.run(statement))
            return (round, try planning.audiences.plan(round.deferred, on: connection))
        }
        planning.committed(round, counts, isLeftToClaim: round.batches + counts.batches > 0)
    }

    private func refuse(
        _ event: OutboxPlace,
        because error: PostgresError,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        let detail = "cannot be planned: SQLSTATE \(error.sqlState ?? "?"), \(error.message)"
        guard let refused = try connection.run(SQL.refuseQuarantinedEvent(event.xid, event.id, detail)).first else {
            return
        }
        planning.refused()
        context.logger.error(
            "an event was refused: planning it failed",
            metadata: .about(refused.id, ofTrace: refused.traceID, [.error: "\(error)"])
        )
    }
}

extension PostgresError {
    fileprivate static let lostWithIt = PostgresError(
        .connectionLost,
        sqlState: "25P03",
        message: "planning it took longer than a transaction may wait"
    )
}
