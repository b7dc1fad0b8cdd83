internal import FanfareCore
internal import Logging
internal import PostgresClient
internal import Threading

/// What the recorder is told.
enum RecorderMessage: Sendable {
    /// A batch was claimed; some of its pairs were decided without a request.
    case opened(PreparedBatch, decided: [PairResult])
    /// Results of a batch, and how many slots of W they give back.
    case results(Int64, [PairResult], slots: Int)
    /// The rest of a batch will not be sent by this daemon.
    case abandoned(Int64, unsent: [Int32])
}

/// Writes down what became of each pair: checkpoints while a batch is in flight, one statement to close it.
///
/// A slot of W is given back only when its outcome is committed.
final class Recorder: Stage {
    let name = "recorder"
    /// Batches closed in one statement.
    private static let closeLimit = 64

    private let context: StageContext
    private let mailbox: Mailbox<RecorderMessage>
    private let stopping = StopSignal()

    init(context: StageContext, mailbox: Mailbox<RecorderMessage>) {
        self.context = context
        self.mailbox = mailbox
    }

    /// Ends when the mailbox is closed and everything in it is recorded.
    func stop() {
        mailbox.close()
    }

    func run() {
        let session = Session(options: context.database.queue(name), stop: stopping, logger: context.logger)
        var open: [Int64: OpenBatch] = [:]
        var policy = CheckpointPolicy()
        var failures = 0
        while true {
            context.pulses.beat(name)
            let wait = policy.dueAt.map { Duration.microseconds(max(0, $0 - Clocks.steady)) } ?? .seconds(1)
            guard let messages = mailbox.take(timeout: wait) else { break }
            for message in messages { take(message, into: &open, &policy) }
            guard policy.isDue(share: context.budget.checkpointShare, at: Clocks.steady) else { continue }
            policy.begun()
            record(&open, session, &policy)
        }
        // The last flush: whatever was answered is written down, however the daemon ends.
        while open.values.contains(where: \.isDirty) && failures < 20 {
            context.pulses.beat(name)
            record(&open, session, &policy)
            failures += 1
        }
        session.close()
    }

    private func take(_ message: RecorderMessage, into open: inout [Int64: OpenBatch], _ policy: inout CheckpointPolicy)
    {
        switch message {
        case .opened(let batch, let decided):
            open[batch.claimed.id] = OpenBatch(batch, decided: decided)
            if !decided.isEmpty || batch.pairs.isEmpty {
                open[batch.claimed.id]?.isDirty = true
                policy.answered(decided.count, at: Clocks.steady)
            }
        case .results(let id, let results, let slots):
            open[id]?.add(results)
            open[id]?.slots += slots
            policy.answered(results.count, at: Clocks.steady)
        case .abandoned(let id, let unsent):
            open[id]?.leaveOver(unsent)
            policy.answered(1, at: Clocks.steady)
        }
    }

    /// Writes everything that changed.
    ///
    /// What could not be written stays and is written next time.
    private func record(_ open: inout [Int64: OpenBatch], _ session: Session, _ policy: inout CheckpointPolicy) {
        let dirty = open.values.filter(\.isDirty).sorted { $0.id < $1.id }
        for (owner, batches) in Dictionary(grouping: dirty, by: \.batch.owner) {
            let batches = batches.map { withFuse($0, &open) }
            let complete = batches.filter(\.isComplete)
            for start in stride(from: 0, to: complete.count, by: Self.closeLimit) {
                close(Array(complete[start..<min(start + Self.closeLimit, complete.count)]), owner, &open, session)
            }
            let incomplete = batches.filter { !$0.isComplete }
            checkpoint(incomplete, owner, &open, session)
            release(incomplete.filter(\.isLeftOver), owner, &open, session)
        }
        if open.values.contains(where: \.isDirty) { policy.answered(1, at: Clocks.steady) }
    }

    private func close(_ batches: [OpenBatch], _ owner: Int32, _ open: inout [Int64: OpenBatch], _ session: Session) {
        guard !batches.isEmpty else { return }
        let now = context.lease.databaseNow
        let retries = batches.flatMap { $0.retries(now: now) }
        let statement = CloseBatches(
            owner: owner,
            batches: batches.map(\.record),
            retries: retries,
            evidence: batches.reduce(into: TokenEvidence()) { $0 += $1.evidence },
            tallies: batches.flatMap(\.tallies)
        )
        guard let done = session.attempt({ connection throws(PostgresError) in try connection.run(statement) }) else {
            return
        }
        let closed = done.batches
        finish(batches, &open)
        count(batches.filter { closed.contains($0.id) }, pruned: done.prunedCount)
        if closed.count < batches.count { logLost(batches.count - closed.count) }
        if !retries.isEmpty { context.bells.claim.ring() }
    }

    /// Counts a batch's answers, each once, and keeps its devices where the fuse is blown.
    private func withFuse(_ batch: OpenBatch, _ open: inout [Int64: OpenBatch]) -> OpenBatch {
        var batch = batch
        let counts = batch.takeUncounted()
        let key = FuseKey(app: batch.batch.target.app, environment: batch.batch.target.environment)
        context.fuses.record(counts, from: batch.batch.target.platform, of: key)
        if !context.fuses.allowsPruning(of: key) {
            // The other daemons hear of it through the database.
            if !context.fuses.unstored.isEmpty { context.bells.control.ring() }
            batch.keepDevices()
        }
        open[batch.id] = batch
        return batch
    }

    private func release(_ batches: [OpenBatch], _ owner: Int32, _ open: inout [Int64: OpenBatch], _ session: Session) {
        guard !batches.isEmpty else { return }
        let statement = ReleaseBatches(owner: owner, batches: batches.map(\.record))
        let done = session.attempt { connection throws(PostgresError) in try connection.runReturningCount(statement) }
        if done != nil {
            finish(batches, &open)
        } else {
            for batch in batches { open[batch.id]?.isDirty = true }
        }
    }

    private func checkpoint(
        _ batches: [OpenBatch],
        _ owner: Int32,
        _ open: inout [Int64: OpenBatch],
        _ session: Session
    ) {
        guard !batches.isEmpty else { return }
        let statement = Checkpoint(
            owner: owner,
            batches: batches.map(\.record),
            evidence: batches.reduce(into: TokenEvidence()) { $0 += $1.evidence }
        )
        let done = session.attempt { connection throws(PostgresError) in try connection.run(statement) }
        guard let done else { return }
        var slots: [BudgetShare: Int] = [:]
        for batch in batches {
            slots[batch.share, default: 0] += batch.slots
            open[batch.id]?.written()
        }
        context.budget.release(slots)
        context.counters.add { $0.devicesPruned += done.prunedCount }
    }

    private func finish(_ batches: [OpenBatch], _ open: inout [Int64: OpenBatch]) {
        var slots: [BudgetShare: Int] = [:]
        for batch in batches {
            // As it is now: a checkpoint right before may have given its slots back.
            guard let last = open.removeValue(forKey: batch.id) else { continue }
            slots[last.share, default: 0] += last.slots
        }
        context.budget.release(slots)
    }

    private func count(_ batches: [OpenBatch], pruned: Int64) {
        let tallies = batches.flatMap(\.tallies)
        let closed = Int64(batches.count)
        context.counters.add { counts in
            counts.batchesClosed += closed
            counts.devicesPruned += pruned
            for tally in tallies { counts.pairsByOutcome[tally.outcome, default: 0] += tally.pairs }
        }
    }

    private func logLost(_ count: Int) {
        context.logger.warning(
            "batches were no longer ours when they were closed",
            metadata: .init([.count: "\(count)"])
        )
    }
}

extension OpenBatch {
    /// Whose part of W its pairs take.
    var share: BudgetShare { BudgetShare(key: batch.providerKey, lane: batch.lane) }
}
