internal import FanfareCore
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient

/// The open batches, and the statements to write for them: the recorder's decisions, without its database.
///
/// A budget slot is released only by ``done(_:)``, after its outcome was committed.
struct RecordLedger {
    /// The number of batches that one statement closes.
    private static let closeLimit = 64

    /// A statement with the batches that it covers.
    enum Write {
        /// Moves finished batches into the log.
        case close(CloseBatches, [OpenBatch])
        /// Saves the known outcomes of batches in flight.
        case checkpoint(Checkpoint, [OpenBatch])
        /// Gives back batches whose remaining deliveries this daemon will not send.
        case release(ReleaseBatches, [OpenBatch])
    }

    /// The slots whose outcomes are in the database, by budget share.
    struct Released {
        /// The slots of the in-flight budget.
        private(set) var slots: [BudgetShare: Int] = [:]
        /// The slots of deliveries that were marked as attempted.
        private(set) var windows: [BudgetShare: Int] = [:]

        /// Adds the slots that a batch releases when only `undecided` of its deliveries are not recorded.
        fileprivate mutating func add(_ batch: OpenBatch, undecided: Int) {
            let share = batch.batch.share
            if batch.slots > 0 { slots[share, default: 0] += batch.slots }
            if batch.window > undecided { windows[share, default: 0] += batch.window - undecided }
        }
    }

    private var open: [BatchClaim: OpenBatch] = [:]
    private(set) var policy = CheckpointPolicy()
    /// The latencies of accepted pushes.
    var acceptances = AcceptanceTimes()

    /// Whether there are results that are not written.
    var isDirty: Bool { open.values.contains(where: \.isDirty) }

    /// Applies a message to the recorder.
    ///
    /// - Parameters:
    ///   - message: the message.
    ///   - now: steady time.
    mutating func take(_ message: RecorderMessage, at now: Microseconds) {
        switch message {
        case .opened(let batch, let decided, let window):
            let claim = batch.claimed.claim
            open[claim] = OpenBatch(batch, decided: decided, window: window)
            if message.bringsNews {
                open[claim]?.isDirty = true
                policy.answered(decided.count, at: now)
            }
        case .results(let claim, let results, let slots, let answeredAt):
            if let place = open.index(forKey: claim) {
                open.values[place].add(results, at: answeredAt)
                open.values[place].slots += slots
                open.values[place].batch.time(results, at: answeredAt, in: &acceptances)
            }
            policy.answered(results.count, at: now)
        case .refused(let claim, let eventID, let why):
            open[claim]?.explain(eventID, why)
        case .abandoned(let claim, let unsent, let delay):
            open[claim]?.leaveOver(unsent, for: delay)
            policy.answered(1, at: now)
        }
    }

    /// Returns the answers since the last call, for the fuses.
    mutating func takeUncounted() -> [AnswerSource: PruneCounts] {
        var counts: [AnswerSource: PruneCounts] = [:]
        for (claim, batch) in open where batch.isDirty {
            counts[batch.source, default: PruneCounts()] += open[claim]?.takeUncounted() ?? PruneCounts()
        }
        return counts.filter { $0.value != PruneCounts() }
    }

    /// Keeps the devices with more evidence against them than the allowances permit.
    mutating func keepDevices(beyond allowances: PruneAllowances) {
        var allowances = allowances
        for claim in open.keys.sorted() where open[claim]?.isDirty == true {
            open[claim]?.keepDevices(beyond: &allowances)
        }
    }

    /// Returns whether a write is due.
    func isDue(share: Int, at now: Microseconds) -> Bool { policy.isDue(share: share, at: now) }

    /// Returns the statements to write now, in this order.
    ///
    /// - Parameters:
    ///   - databaseNow: the database's time, from which the delays of retries count.
    ///   - heedFuse: keeps a batch's devices if the prune fuse is blown.
    /// - Returns: the statements. ``done(_:)`` must follow each committed one, and ``wrote(at:)`` all of them.
    ///   Statements that fail are created again next time.
    mutating func begin(databaseNow: Microseconds, heedFuse: (inout OpenBatch) -> Void) -> [Write] {
        policy.begun()
        let dirty = open.values.filter(\.isDirty).sorted { $0.claim < $1.claim }
        var writes: [Write] = []
        for (owner, batches) in Dictionary(grouping: dirty, by: \.batch.owner).sorted(by: { $0.key < $1.key }) {
            let batches = batches.map { batch in
                var batch = batch
                heedFuse(&batch)
                open[batch.claim] = batch
                return batch
            }
            writes += closes(of: batches.filter(\.isComplete), owner: owner, databaseNow: databaseNow)
            let incomplete = batches.filter { !$0.isComplete }
            let inFlight = incomplete.filter { !$0.isLeftOver }
            if !inFlight.isEmpty {
                let records = inFlight.map(\.record)
                let statement = Checkpoint(owner: owner, batches: records, evidence: Self.evidence(of: inFlight))
                writes.append(.checkpoint(statement, inFlight))
            }
            let leftOver = Dictionary(grouping: incomplete.filter(\.isLeftOver), by: \.returnDelay)
            for (delay, batches) in leftOver.sorted(by: { $0.key < $1.key }) {
                let records = batches.map(\.record)
                let evidence = Self.evidence(of: batches)
                let statement = ReleaseBatches(owner: owner, batches: records, delay: delay, evidence: evidence)
                writes.append(.release(statement, batches))
            }
        }
        return writes
    }

    private static func evidence(of batches: [OpenBatch]) -> TokenEvidence {
        batches.reduce(into: TokenEvidence()) { $0 += $1.evidence }
    }

    private func closes(of complete: [OpenBatch], owner: Int32, databaseNow: Microseconds) -> [Write] {
        stride(from: 0, to: complete.count, by: Self.closeLimit).map { start in
            let batches = Array(complete[start..<min(start + Self.closeLimit, complete.count)])
            let statement = CloseBatches(
                owner: owner,
                batches: batches.map(\.closing),
                retries: batches.flatMap { $0.retries(now: databaseNow) },
                evidence: Self.evidence(of: batches),
                tallies: batches.flatMap(\.tallies)
            )
            return .close(statement, batches)
        }
    }

    /// Records that a statement was committed.
    ///
    /// Batches that this daemon no longer owned are removed too, because their new owner continues them.
    ///
    /// - Parameter write: the statement.
    /// - Returns: the slots to release.
    mutating func done(_ write: Write) -> Released {
        var released = Released()
        switch write {
        case .close(_, let batches), .release(_, let batches):
            for batch in batches {
                guard let last = open.removeValue(forKey: batch.claim) else { continue }
                released.add(last, undecided: 0)
            }
        case .checkpoint(_, let batches):
            for batch in batches {
                released.add(batch, undecided: batch.undecided)
                open[batch.claim]?.written()
            }
        }
        return released
    }

    /// Records that all statements were tried; if any results remain, a write is due again.
    ///
    /// - Parameter now: steady time.
    mutating func wrote(at now: Microseconds) {
        if isDirty { policy.answered(1, at: now) }
    }
}
