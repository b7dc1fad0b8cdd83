internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
package import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
package import Threading

/// Records the outcomes of deliveries: by checkpoints while a batch is in flight, and by one statement that closes it.
///
/// It executes the decisions of ``RecordLedger``.
package final class Recorder: Stage {
    package static let name = "recorder"
    package let name: String = Recorder.name

    private let context: StageContext
    private let bells: StageBells
    private let limits: Limits
    private let counters: PipelineCounters
    private let mailbox: Mailbox<RecorderMessage>
    private let stopping = StopSignal()

    package init(
        context: StageContext,
        bells: StageBells,
        limits: Limits,
        counters: PipelineCounters,
        mailbox: Mailbox<RecorderMessage>
    ) {
        (self.context, self.bells, self.limits) = (context, bells, limits)
        (self.counters, self.mailbox) = (counters, mailbox)
    }

    /// Closes the mailbox; the stage ends when everything in it is recorded.
    package func stop() {
        mailbox.close()
    }

    package func run() {
        let session = Session(context.database.promptQueue(name), of: context, stop: stopping)
        var ledger = RecordLedger()
        var gate = PruneGate(limits.fuses)
        var recorded = RecordCounters(counters)
        var failures = 0
        while true {
            context.pulses.beat(name)
            let wait =
                ledger.policy.dueAt.map { Duration.microseconds(max(0, $0 - Clocks.steady)) }
                ?? .seconds(gate.hasUnshared ? 1 : 10)
            guard let messages = mailbox.take(timeout: wait) else { break }
            for message in messages { ledger.take(message, at: Clocks.steady) }
            gate.share(over: session)
            guard ledger.isDue(share: limits.budget.checkpointShare, at: Clocks.steady) else { continue }
            record(&ledger, &gate, &recorded, session)
        }
        // The last write records all answers, also if the daemon is cancelled.
        while ledger.isDirty && failures < 20 {
            context.pulses.beat(name)
            record(&ledger, &gate, &recorded, session)
            failures += 1
        }
        session.close()
    }

    /// Writes everything that changed.
    ///
    /// Results that could not be written are kept and written the next time.
    private func record(
        _ ledger: inout RecordLedger,
        _ gate: inout PruneGate,
        _ recorded: inout RecordCounters,
        _ session: Session
    ) {
        ledger.acceptances.tell(counters)
        guard gate.judge(&ledger, over: session) else { return ledger.wrote(at: Clocks.steady) }
        let writes = ledger.begin(
            databaseNow: context.lease.databaseNow,
            heedFuse: { limits.heedFuse(&$0, waking: bells.control) }
        )
        for write in writes {
            let done = session.attempt { connection throws(PostgresError) in try Self.run(write, on: connection) }
            guard let done else { continue }
            limits.release(ledger.done(write))
            recorded.count(write, done)
            follow(write, done)
            guard case .close(_, let batches) = write, let settlement = GrantSettlement(of: batches, done) else {
                continue
            }
            _ = session.attempt { connection throws(PostgresError) in
                try connection.transaction { connection throws(PostgresError) in try settlement.run(on: connection) }
            }
        }
        ledger.wrote(at: Clocks.steady)
    }

    private static func run(
        _ write: RecordLedger.Write,
        on connection: PostgresConnection
    ) throws(PostgresError) -> [Recorded] {
        switch write {
        case .close(let statement, _): return try connection.run(statement)
        case .checkpoint(let statement, _): return try connection.run(statement)
        case .release(let statement, let batches):
            guard batches.contains(where: \.hasCaps) else { return try connection.run(statement) }
            // In one transaction, because the next claim counts the deliveries again.
            return try connection.transaction { connection throws(PostgresError) in
                let done = try connection.run(statement)
                try GrantSettlement(of: batches, done)?.run(on: connection)
                return done
            }
        }
    }

    /// Wakes the claimer for retries and released batches, and logs lost batches.
    private func follow(_ write: RecordLedger.Write, _ done: [Recorded]) {
        if case .release = write { bells.claim.ring() }
        guard case .close(let statement, let batches) = write else { return }
        let ours = done.batches
        let closed = batches.count { ours.contains($0.id) }
        if closed < batches.count { logLost(batches.count - closed) }
        if !statement.retries.isEmpty { bells.claim.ring() }
    }

    private func logLost(_ count: Int) {
        context.logger.warning(
            "batches were no longer owned when they were closed",
            metadata: .init([.count: "\(count)"])
        )
    }
}

extension Limits {
    /// Releases the slots of recorded outcomes.
    func release(_ recorded: RecordLedger.Released) {
        budget.release(recorded.slots)
        windows.release(recorded.windows)
    }

    /// Keeps a batch's devices if the fuse is blown.
    func heedFuse(_ batch: inout OpenBatch, waking controller: Bell) {
        guard !fuses.allowsPruning(of: batch.source.key) else { return }
        // The other daemons learn of the blown fuse through the database.
        if !fuses.unstored.isEmpty { controller.ring() }
        batch.keepDevices()
    }
}
