internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
internal import FanfareSending
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Claims, prepares and hands over due batches, slightly more than the senders can send, so that they need not wait.
struct Claimer: Stage {
    let name = "claimer"
    /// How often batches are scanned from the beginning, to find those that committed late.
    private static let sweepInterval = 5 * Micros.second
    /// The pause after a claim of all due batches, unless the bell rings.
    private static let pause = Duration.milliseconds(2)
    /// The delay before a batch that could not be prepared may be claimed again.
    private static let returnDelay = 5 * Micros.second

    let context: StageContext
    let orders: Orders
    /// The known rules and targets; the targets are read here.
    let catalog: Catalog
    /// The budget for deliveries that are marked as attempted.
    let windows: InFlightBudget
    /// Rung when there may be batches, or room for them.
    let bell: Bell
    let pools: SenderPools
    let handover: Handover
    private let stopping = StopSignal()

    func stop() {
        stopping.stop()
        bell.ring()
    }

    func run() {
        let badges = BadgeReader(options: context.database.badges(), logger: context.logger)
        defer { badges.close() }
        var work = Work(badges: badges)
        context.takeTurns(on: context.database.unflushedPromptQueue(name), until: stopping) { session in
            guard let owner = context.owner(orSleepingBy: bell) else { return }
            let wait = session.attempt(opened: { _ throws(PostgresError) in work.began() }) {
                connection throws(PostgresError) in
                try giveBack(&work.left, owner: owner, on: connection)
                try work.doubts.settle(on: connection, logger: context.logger)
                return try check(for: owner, &work, on: connection)
            }
            if let wait, wait > .zero, bell.wait(timeout: wait) { work.isIdle = false }
        }
        giveBack(work.held.all)
    }

    /// Claims and hands over once.
    ///
    /// - Returns: how long to wait before the next turn.
    private func check(
        for owner: Int32,
        _ work: inout Work,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Duration {
        if work.floors.isSweepDue(at: Clocks.steady, every: Self.sweepInterval) || catalog.targets.all.isEmpty {
            catalog.targets.replace(try connection.run(SQL.allTargets()))
            work.floors.sweep(at: Clocks.steady)
            let unserved = work.unserved.check(catalog.targets.all.values, served: pools.roster.serves)
            context.status.unserved(work.unserved.names)
            for target in unserved {
                context.logger.warning(
                    "an app has no credentials for this provider here; its pushes wait",
                    metadata: .init([.app: "\(target.app)", .provider: "\(target.provider)"])
                )
            }
        }
        if work.isIdle, try nextCheck(of: pools.roster, on: connection) == nil { return idle }
        work.isIdle = false
        let orders = orders.current
        obey(orders, &work)
        leaveHeld(&work) { $0.isOutdated(orders.preferences) }
        try passOnHeld(&work, on: connection)
        // The same roster is used from claim to sender. Pools that are replaced meanwhile give the batches back.
        let roster = pools.roster
        // Batches under a rate come first, because those without a rate may fill all room.
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
            work.isIdle = next == nil && work.held.isEmpty && !orders.arePaced
            guard let wait = work.turns.wait(at: Clocks.steady) else { return next ?? idle }
            return min(next ?? .seconds(1), .microseconds(max(wait, Micros.millisecond)))
        }
        var queue = BatchQueue(paced + others)
        while let group = queue.next(deliveries: context.settings.batchSize) {
            try passOn(group, to: roster, for: owner, &work, on: connection)
            guard let waiting = queue.lane else { break }
            // One-off events must not wait until all tokens of a broadcast are read, and a broadcast must not wait
            // until no more one-offs come. Unused rate is lost, so paced batches are claimed too.
            let urgent = Lane.allCases.filter { $0.rawValue < waiting }
            let paced = try claimPaced(of: roster, for: owner, &work, on: connection)
            let others = try claim(urgent, of: roster, beside: paced, for: owner, &work, on: connection).batches
            var first = BatchQueue(paced + others)
            while let group = first.next(deliveries: context.settings.batchSize) {
                try passOn(group, to: roster, for: owner, &work, on: connection)
            }
        }
        // The planner rings for new batches. An immediate rescan would take processor time from sending and recording.
        return hasMore ? .zero : Self.pause
    }

    /// Claims due batches of some lanes that are not under a rate.
    ///
    /// - Returns: the batches, and whether a queue returned as many as requested, so that more may be due.
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
        let preparer = BatchPreparer(
            context: context,
            orders: orders,
            catalog: catalog,
            apps: roster.identities,
            badges: work.badges
        )
        // The gate may have closed after the claim.
        let now = orders.current
        let closed = group.filter { now.gates.isClosed($0.gate) }
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

    /// Applies changed gates and rates: gives back held batches of closed gates, and rescans, because batches behind an
    /// opened gate, or whose rate was removed, may lie below the floors.
    private func obey(_ orders: OrderSnapshot, _ work: inout Work) {
        guard orders.gates.version != work.gates || orders.ratesVersion != work.rates else { return }
        (work.gates, work.rates) = (orders.gates.version, orders.ratesVersion)
        work.floors.forget()
        work.turns.forget()
        leaveHeld(&work) { orders.gates.isClosed($0.claimed.gate) }
    }

    /// Returns the claim requests for the targets that this daemon has credentials for.
    func batchRequests(of roster: SenderRoster) -> BatchRequests {
        let orders = orders.current
        return BatchRequests(
            room: roster.room,
            targets: catalog.targets.all.values.filter(roster.serves),
            gates: orders.gates.open,
            rates: orders.rates
        )
    }

    /// Gives back batches that were claimed but not handed over, because of an error or a rule that only a newer daemon
    /// understands.
    ///
    /// Otherwise they would stay claimed as long as this daemon runs.
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

    /// The pause while no batch waits, unless the bell rings: the batches of other daemons do not ring it.
    private var idle: Duration { context.status.hasOthers ? .seconds(1) : .microseconds(Self.sweepInterval) }

    /// Returns the time until a batch without a rate is due, at most a second; nil if none waits.
    private func nextCheck(
        of roster: SenderRoster,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Duration? {
        guard let next = try connection.run(NextDue(places: batchRequests(of: roster).places)).first else { return nil }
        guard next.targetCount == catalog.targets.all.count else {
            // A provider has its first device: its first push should not wait for the next sweep.
            catalog.targets.replace(try connection.run(SQL.allTargets()))
            return .zero
        }
        guard let due = next.due else { return nil }
        let wait = due.microseconds - next.now.microseconds
        // A batch is due but was not claimed: there is no room, or another daemon is claiming it.
        return wait <= 0 ? .milliseconds(50) : .microseconds(min(wait, Micros.second))
    }
}

extension ClaimedBatch {
    /// The record that releases the batch unchanged.
    fileprivate var unbegun: BatchRecord { BatchRecord(id: id, leaseToken: leaseToken, outcomes: []) }
}
