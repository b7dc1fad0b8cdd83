internal import FanfareCore
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient

/// The batches that are open, and what is to be written of them: the recorder's decisions, without its database.
///
/// A slot of W is given back only when ``done(_:)`` says so, which is after its outcome was committed.
struct RecordLedger {
    /// Batches closed in one statement.
    private static let closeLimit = 64

    /// One statement, and the batches it is about.
    enum Write {
        /// Moves finished batches into the log.
        case close(CloseBatches, [OpenBatch])
        /// Saves what is known of batches in flight.
        case checkpoint(Checkpoint, [OpenBatch])
        /// Gives batches back whose rest this daemon will not send.
        case release(ReleaseBatches, [OpenBatch])
    }

    /// Slots whose outcomes are in the database, by who took them.
    struct Released {
        /// Of W.
        private(set) var slots: [BudgetShare: Int] = [:]
        /// Of deliveries that were marked as attempted.
        private(set) var windows: [BudgetShare: Int] = [:]

        /// Counts what a batch gives back now that only `undecided` deliveries of it are not recorded.
        fileprivate mutating func add(_ batch: OpenBatch, undecided: Int) {
            let share = batch.batch.share
            if batch.slots > 0 { slots[share, default: 0] += batch.slots }
            if batch.window > undecided { windows[share, default: 0] += batch.window - undecided }
        }
    }

    private var open: [BatchClaim: OpenBatch] = [:]
    private(set) var policy = CheckpointPolicy()
    /// How long the pushes took that were accepted.
    var acceptances = AcceptanceTimes()

    /// Whether anything is known that is not written.
    var isDirty: Bool { open.values.contains(where: \.isDirty) }

    /// Takes in what the recorder was told.
    ///
    /// - Parameters:
    ///   - message: what it was told.
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

    /// What was answered since this was last asked, for the fuses.
    mutating func takeUncounted() -> [AnswerSource: PruneCounts] {
        var counts: [AnswerSource: PruneCounts] = [:]
        for (claim, batch) in open where batch.isDirty {
            counts[batch.source, default: PruneCounts()] += open[claim]?.takeUncounted() ?? PruneCounts()
        }
        return counts.filter { $0.value != PruneCounts() }
    }

    /// Keeps devices that more evidence speaks against than may be followed.
    mutating func keepDevices(beyond allowances: PruneAllowances) {
        var allowances = allowances
        for claim in open.keys.sorted() where open[claim]?.isDirty == true {
            open[claim]?.keepDevices(beyond: &allowances)
        }
    }

    /// Whether it is time to write.
    func isDue(share: Int, at now: Microseconds) -> Bool { policy.isDue(share: share, at: now) }

    /// All that is to be written now, in this order.
    ///
    /// - Parameters:
    ///   - databaseNow: the time by the database, which retries count from.
    ///   - heedFuse: keeps a batch's devices where the prune fuse is blown.
    /// - Returns: statements; each that was committed is to be followed by ``done(_:)``, all by ``wrote(at:)``. Others are
    ///   made again next time.
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

    /// A statement was committed.
    ///
    /// Batches that were no longer ours are forgotten all the same: who owns them now does the rest.
    ///
    /// - Parameter write: which.
    /// - Returns: what to give back.
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

    /// Everything was tried; what could not be written is due again.
    ///
    /// - Parameter now: steady time.
    mutating func wrote(at now: Microseconds) {
        if isDirty { policy.answered(1, at: now) }
    }
}
