internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Claims batches that are due, prepares them, and hands them to the senders: a little more than they can send, so that
/// the next batch is read while one is sent.
final class Claimer: Stage {
    let name = "claimer"
    /// How often batches are looked for from the beginning, for those that committed late.
    private static let sweepInterval = 5 * Micros.second
    /// How long after a claim of all that was due the next look comes, unless somebody rings.
    private static let pause = Duration.milliseconds(2)
    /// How long a batch that could not be prepared is left alone.
    private static let returnDelay = 5 * Micros.second

    let context: StageContext
    private let pools: SenderPools
    private let recorder: Mailbox<RecorderMessage>
    private let handover: Handover
    private let stopping = StopSignal()

    init(context: StageContext, pools: SenderPools, recorder: Mailbox<RecorderMessage>) {
        self.context = context
        self.pools = pools
        self.recorder = recorder
        handover = Handover(context: context, recorder: recorder)
    }

    func stop() {
        stopping.stop()
        context.bells.claim.ring()
    }

    func run() {
        let session = Session(context.database.unflushedPromptQueue(name), of: context, stop: stopping)
        let badges = BadgeReader(options: context.database.badges(), logger: context.logger)
        defer { badges.close() }
        var work = Work(badges: badges)
        while !stopping.isStopped {
            context.pulses.beat(name)
            guard let owner = context.lease.owner else {
                context.bells.claim.wait(timeout: .milliseconds(200))
                continue
            }
            let wait = session.attempt(opened: { _ throws(PostgresError) in work.began() }) {
                connection throws(PostgresError) in
                try giveBack(&work.left, owner: owner, on: connection)
                try work.doubts.settle(on: connection, logger: context.logger)
                return try check(for: owner, &work, on: connection)
            }
            if let wait, wait > .zero { context.bells.claim.wait(timeout: wait) }
        }
        giveBack(work.held.all)
        session.close()
    }

    /// Claims and passes on once.
    ///
    /// - Returns: how long to wait before the next look.
    private func check(
        for owner: Int32,
        _ work: inout Work,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Duration {
        if work.floors.isSweepDue(at: Clocks.steady, every: Self.sweepInterval) || context.directory.all.isEmpty {
            context.directory.replace(try connection.run(AllTargets()))
            work.floors.sweep(at: Clocks.steady)
            let unserved = work.unserved.check(context.directory.all.values, served: pools.roster.serves)
            context.status.unserved(work.unserved.names)
            for target in unserved {
                context.logger.warning(
                    "an app has no credentials for this provider here; its pushes wait",
                    metadata: .init([.app: "\(target.app)", .provider: "\(target.provider)"])
                )
            }
        }
        obeyGates(&work)
        leaveHeld(&work) { $0.isOutdated(context.preferences) }
        try passOnHeld(&work, on: connection)
        // One roster from claim to sender: a batch that was rendered for pools since replaced comes back from them.
        let roster = pools.roster
        // First, since what has no rate may always fill all the room there is.
        let paced = try claimPaced(of: roster, for: owner, &work, on: connection)
        let (others, hasMore) = try claim(
            Lane.allCases,
            of: roster,
            beside: paced,
            for: owner,
            &work,
            on: connection
        )
        guard !paced.isEmpty || !others.isEmpty else {
            let next = try nextCheck(of: roster, on: connection)
            guard let wait = work.turns.wait(at: Clocks.steady) else { return next }
            return min(next, .microseconds(max(wait, Micros.millisecond)))
        }
        var queue = BatchQueue(paced + others)
        while let group = queue.next(deliveries: context.settings.batchSize) {
            try passOn(group, to: roster, for: owner, &work, on: connection)
            guard let waiting = queue.lane else { break }
            // A one-off must not wait until all of a broadcast's tokens are read; nor a broadcast until no one-offs come. What has
            // a rate would lose some of it.
            let urgent = Lane.allCases.filter { $0.rawValue < waiting }
            let paced = try claimPaced(of: roster, for: owner, &work, on: connection)
            let others = try claim(urgent, of: roster, beside: paced, for: owner, &work, on: connection).batches
            var first = BatchQueue(paced + others)
            while let group = first.next(deliveries: context.settings.batchSize) {
                try passOn(group, to: roster, for: owner, &work, on: connection)
            }
        }
        // What is planned next rings. Looking again at once would only take the processor from who sends and records.
        return hasMore ? .zero : Self.pause
    }

    /// Claims what is due in some lanes and has no rate.
    ///
    /// - Returns: the batches, and whether a queue gave as many as there was room for: there may be more.
    private func claim(
        _ lanes: [Lane],
        of roster: SenderRoster,
        beside taken: [ClaimedBatch],
        for owner: Int32,
        _ work: inout Work,
        on connection: PostgresConnection
    ) throws(PostgresError) -> (batches: [ClaimedBatch], hasMore: Bool) {
        let requests = batchRequests(of: roster).requests(
            lanes,
            beside: taken,
            sparing: work.held,
            above: work.floors,
            now: context.lease.databaseNow
        )
        guard !requests.isEmpty else { return ([], false) }
        let claim = work.begin(for: owner)
        let asked = Clocks.steady
        let claimed =
            if requests.contains(where: { $0.gate != 0 }) {
                try connection.run(ClaimGated(requests: requests, owner: claim.owner, leaseToken: claim.leaseToken))
            } else {
                try connection.run(ClaimBatches(requests: requests, owner: claim.owner, leaseToken: claim.leaseToken))
            }
        context.lease.claimed(claimed, asked: asked)
        work.end(claim, claimed)
        return (claimed, claimed.fill(requests))
    }

    /// Prepares batches and hands them to the senders.
    private func passOn(
        _ group: [ClaimedBatch],
        to roster: SenderRoster,
        for owner: Int32,
        _ work: inout Work,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        var preparer = BatchPreparer(context: context, targets: context.directory.all, apps: roster.identities)
        preparer.badges = work.badges
        // A pause may have come since it was claimed.
        let closed = group.filter { context.gates.isClosed($0.gate) }
        if !closed.isEmpty {
            _ = try connection.run(ReleaseBatches(owner: owner, batches: closed.map(\.unbegun)))
            work.left.removeAll(where: closed.contains)
        }
        let open = closed.isEmpty ? group : group.filter { !closed.contains($0) }
        let all = try preparer.prepare(open, owner: owner, on: connection)
        for prepared in all {
            if prepared.batch.isAtMostOnce && !prepared.batch.deliveries.isEmpty {
                work.held.append(.init(prepared: prepared, roster: roster))
            } else {
                handover.hand(prepared, to: roster)
            }
            work.left.removeAll { $0.id == prepared.batch.claimed.id }
        }
        try refund(all, &work, on: connection)
        try passOnHeld(&work, on: connection)
    }

    /// Marks batches that promise at most once as attempted, and hands them to the senders, as far as W has room.
    private func passOnHeld(_ work: inout Work, on connection: PostgresConnection) throws(PostgresError) {
        guard !work.held.isEmpty else { return }
        context.windows.whenReleased(for: name) { [bell = context.bells.claim] in bell.ring() }
        while let (held, window) = work.held.next(in: context.windows) {
            let batch = held.prepared.batch
            let isOurs: Bool
            do {
                isOurs = try mark(held.prepared, on: connection)
            } catch {
                // It stays held. If it was marked after all, it is marked once more.
                context.windows.release([batch.share: window])
                throw error
            }
            work.held.remove(held)
            if isOurs {
                handover.hand(held.prepared, window: window, to: held.roster)
            } else {
                context.windows.release([batch.share: window])
            }
        }
    }

    /// Marks a batch's deliveries as attempted, committed before the first request: after a crash they are unknown, never
    /// repeated.
    ///
    /// - Returns: whether the batch is still ours.
    private func mark(
        _ prepared: BatchPreparer.Prepared,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Bool {
        let batch = prepared.batch
        let record = OpenBatch(batch, decided: prepared.decided).record
        return try connection.transaction { connection throws(PostgresError) in
            try connection.run(FlushCommit())
            return try connection.run(Checkpoint(owner: batch.owner, batches: [record])).batches
        }.contains(batch.claimed.id)
    }

    /// Follows gates and rates that changed: what is held behind a gate that closed is given back, and what waited behind one that
    /// opened, or for a rate that is gone, lies below where is looked from.
    private func obeyGates(_ work: inout Work) {
        let (gates, rates) = (context.gates.version, context.rates.version)
        guard gates != work.gates || rates != work.rates else { return }
        (work.gates, work.rates) = (gates, rates)
        work.floors.forget()
        work.turns.forget()
        leaveHeld(&work) { context.gates.isClosed($0.claimed.gate) }
    }

    /// Gives back some of what is held.
    private func leaveHeld(_ work: inout Work, where isOver: (PreparedBatch) -> Bool) {
        for held in work.held.all where isOver(held.prepared.batch) {
            giveBack([held])
            work.held.remove(held)
        }
    }

    /// Gives back what is held, for somebody else to send.
    private func giveBack(_ held: [HeldBatches.Held]) {
        for prepared in held.map(\.prepared) {
            for line in prepared.lines { context.logDecision(line) }
            recorder.put(.opened(prepared.batch, decided: prepared.decided))
            recorder.put(.givenBack(prepared.batch))
        }
    }

    /// What can be requested: of targets that this daemon has credentials for.
    func batchRequests(of roster: SenderRoster) -> BatchRequests {
        BatchRequests(
            room: roster.room,
            targets: context.directory.all.values.filter(roster.serves),
            gates: context.gates.open,
            rates: context.rates.current
        )
    }

    /// Gives back what was claimed and not passed on: an error came in between, or a rule that only a newer daemon
    /// understands.
    ///
    /// Otherwise it would be ours as long as we live.
    private func giveBack(
        _ left: inout [ClaimedBatch],
        owner: Int32,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        guard !left.isEmpty else { return }
        let statement = ReleaseBatches(owner: owner, batches: left.map(\.unbegun), delay: Self.returnDelay)
        let count = try connection.run(statement).batches.count
        if count > 0 {
            context.logger.warning(
                "batches that could not be prepared were given back",
                metadata: .init([.count: "\(count)"])
            )
        }
        left = []
    }

    private func nextCheck(of roster: SenderRoster, on connection: PostgresConnection) throws(PostgresError) -> Duration
    {
        guard let next = try connection.run(NextDue(places: batchRequests(of: roster).places)).first else {
            return .seconds(1)
        }
        guard next.targetCount == context.directory.all.count else {
            // The first device of a provider: its first push is not to wait for the next sweep.
            context.directory.replace(try connection.run(AllTargets()))
            return .zero
        }
        guard let due = next.due else { return .seconds(1) }
        let wait = due.microseconds - next.now.microseconds
        // Due already, and yet not claimed: there is no room, or another daemon has it.
        return wait <= 0 ? .milliseconds(50) : .microseconds(min(wait, Micros.second))
    }
}

extension ClaimedBatch {
    /// What is written of it when it is given back as it came.
    fileprivate var unbegun: BatchRecord { BatchRecord(id: id, leaseToken: leaseToken, outcomes: []) }
}
