package import FanfareCore
internal import FanfareProviders
package import FanfareStages
package import FanfareStore
internal import PostgresClient

/// A batch between its claim and its close, with its outcomes and follow-ups so far.
///
/// It is used by the recorder alone.
package struct OpenBatch {
    package let batch: PreparedBatch
    package private(set) var outcomes: [UInt8]
    package private(set) var followUps: [Int32: FollowUp] = [:]
    package private(set) var undecided: Int
    /// The budget slots that are released when the outcomes are in the database.
    package var slots = 0
    /// The number of slots held because its deliveries are marked as attempted, at most the number of undecided ones.
    package private(set) var window: Int
    package var isDirty = false
    /// The answers that the prune fuse has not counted yet.
    private var uncounted = PruneCounts()
    /// The positions of deliveries with evidence against their tokens that no fuse has admitted yet, in the order of
    /// arrival.
    private var unjudged: [Int32] = []
    /// The number of deliveries that were never submitted and return to the queue.
    package private(set) var unsent: Int?
    /// How long these deliveries must not be claimed.
    package private(set) var returnDelay: Microseconds = 0
    /// The reasons of refused deliveries, by event.
    private var refusals: [Int64: String]
    /// The positions of deliveries that move to their device's environment without a request in this batch's
    /// environment.
    private var unasked: [Int] = []
    /// When its last answers arrived, in database time; nil before the first.
    package private(set) var answeredAt: Microseconds?

    package init(_ batch: PreparedBatch, decided: [DeliveryResult], window: Int = 0) {
        self.batch = batch
        self.window = window
        refusals = batch.refusals
        let count = batch.claimed.deviceIDs.count
        outcomes = batch.claimed.outcomes.isEmpty ? Array(repeating: 0, count: count) : batch.claimed.outcomes
        undecided = batch.deliveries.count
        if batch.isAtMostOnce {
            for delivery in batch.deliveries { outcomes[Int(delivery.position)] = Outcome.attempted.rawValue }
        }
        for result in decided {
            set(result)
            if result.isUnasked { unasked.append(Int(result.position)) }
        }
    }

    package var id: Int64 { batch.claimed.id }
    package var claim: BatchClaim { batch.claimed.claim }
    /// The outcomes that checkpoints save while the batch is open.
    ///
    /// A delivery that moves without a request is saved as pending, and ``BatchDraft`` decides it again, because a
    /// saved move counts as an answer of this environment's provider.
    package var record: BatchRecord {
        var saved = outcomes
        for position in unasked { saved[position] = Outcome.pending.rawValue }
        return BatchRecord(id: id, leaseToken: batch.claimed.leaseToken, outcomes: saved)
    }

    /// Whether all deliveries have a result.
    package var isComplete: Bool { undecided == 0 }
    /// Whether every submitted delivery has a result and the others return to the queue.
    package var isLeftOver: Bool { unsent.map { $0 == undecided } ?? false }

    package mutating func add(_ results: [DeliveryResult], at answeredAt: Microseconds = 0) {
        undecided -= results.count
        isDirty = true
        self.answeredAt = answeredAt
        for result in results { set(result) }
    }

    package mutating func leaveOver(_ positions: [Int32], for delay: Microseconds) {
        unsent = (unsent ?? 0) + positions.count
        returnDelay = max(returnDelay, delay)
        isDirty = true
        for position in positions { outcomes[Int(position)] = Outcome.pending.rawValue }
    }

    private mutating func set(_ result: DeliveryResult) {
        outcomes[Int(result.position)] = result.outcome.rawValue
        followUps[result.position] = result.followUp
        if result.outcome.isFinalAnswer { uncounted.answers += 1 }
        guard case .prune(let evidence)? = result.followUp else { return }
        if evidence.strength == .weak { uncounted.weak += 1 } else { uncounted.strong += 1 }
        unjudged.append(result.position)
    }

    /// Returns the follow-up of a retry that an earlier daemon recorded without its details, with the delay that its
    /// outcome requires.
    private func recovered(_ position: Int32, now: Microseconds) -> FollowUp? {
        let outcome = Outcome(rawValue: outcomes[Int(position)])
        guard outcome.kind == .retrying else { return nil }
        if outcome == .retryingOtherEnvironment {
            // The device was registered later, or belongs to the other environment. The next request here names the
            // other environment again. If that one were marked as tried, the answer of a single environment could
            // become evidence against the token.
            return .again(at: now, history: batch.claimed.history, target: batch.target.id)
        }
        // When it is claimed again, the suppressions determine how long it is held.
        if outcome.isHeld { return .again(at: now, history: batch.claimed.history.held, target: batch.target.id) }
        let waitsLong = outcome == .retryingDeviceThrottled || outcome == .retryingRegisteredLater
        let floor = waitsLong ? Micros.minute : 0
        let isFree = outcome == .retryingNotProcessed || outcome == .retryingNotSent
        let decision = RetrySchedule(maximumAttempts: .max).decide(
            Verdict(outcome, .retry(Retry(floor: floor, isFree: isFree))),
            history: batch.claimed.history,
            deadline: Deadline(createdAt: now, ttl: nil),
            now: now,
            random: 0.5
        )
        guard case .again(let at, _, let history) = decision else { return nil }
        return .again(at: at, history: history, target: batch.target.id)
    }

    // MARK: Evidence

    /// Returns the evidence of the answers since the last call, for the fuse.
    package mutating func takeUncounted() -> PruneCounts {
        defer { uncounted = PruneCounts() }
        return uncounted
    }

    /// The source of its answers, for the fuses.
    package var source: AnswerSource {
        AnswerSource(
            key: FuseKey(app: batch.target.app, environment: batch.homeEnvironment),
            provider: batch.target.provider
        )
    }

    /// Changes outcomes that would disable more devices than the fuses' allowances permit for new evidence.
    package mutating func keepDevices(beyond allowances: inout PruneAllowances) {
        for position in unjudged {
            guard case .prune(let evidence)? = followUps[position] else { continue }
            if !allowances.take(evidence.strength, from: source) { keepDevice(position) }
        }
        unjudged = []
    }

    /// Changes outcomes that would disable devices while the fuse is blown.
    package mutating func keepDevices() {
        for (position, followUp) in followUps {
            if case .prune = followUp { keepDevice(position) }
        }
        unjudged = []
    }

    private mutating func keepDevice(_ position: Int32) {
        let outcome = Outcome(rawValue: outcomes[Int(position)])
        outcomes[Int(position)] = outcome.keepingDevice.rawValue
        followUps[position] = nil
    }

    /// The evidence about tokens that is not in the database yet.
    package var evidence: TokenEvidence {
        var evidence = TokenEvidence()
        guard followUps.values.contains(where: \.isAboutToken) else { return evidence }
        let tokens = batch.damaged.map { (position: $0.key, token: $0.value) }.sorted { $0.position < $1.position }
        for (position, token) in batch.deliveries.lazy.map({ (position: $0.position, token: $0.token) }) + tokens {
            let deviceID = batch.claimed.deviceIDs[Int(position)]
            switch followUps[position] {
            case .prune(let said):
                let prune = Prune(
                    batchID: id,
                    deviceID: deviceID,
                    token: token,
                    registeredBefore: Timestamp(microseconds: said.registeredUpTo),
                    reason: Outcome(rawValue: outcomes[Int(position)]).reason
                )
                evidence.prunes.append(prune)
            case .moved:
                guard let from = batch.otherTarget else { continue }
                let move = EnvironmentCorrection(
                    batchID: id,
                    deviceID: deviceID,
                    token: token,
                    from: from,
                    to: batch.target.id
                )
                evidence.corrections.append(move)
            case .doubted, .trusted:
                let rule = followUps[position]?.isDoubt == true ? Int64(batch.rule.ruleID) : nil
                evidence.doubts.append(Doubt(batchID: id, deviceID: deviceID, token: token, rule: rule))
            case .again, nil: continue
            }
        }
        return evidence
    }

    /// Records that outcomes and evidence are in the database.
    package mutating func written() {
        isDirty = false
        slots = 0
        window = min(window, undecided)
        followUps = followUps.filter { !$0.value.isAboutToken }
    }

    /// Records the reason why deliveries of an event are refused.
    package mutating func explain(_ eventID: Int64, _ why: String) { refusals[eventID] = why }

    // MARK: Closing

    /// The record for the log.
    package var closing: BatchRecord {
        var record = BatchRecord(id: id, leaseToken: batch.claimed.leaseToken, outcomes: outcomes)
        record.index = LogIndex(batch.claimed)
        guard !refusals.isEmpty else { return record }
        var details = JSONObject()
        for (event, why) in refusals.sorted(by: { $0.key < $1.key }) { details["\(event)"] = .string(why) }
        record.details = JSONValue.object(details).text
        return record
    }

    /// The number of deliveries of each outcome.
    package var tallies: [OutcomeTally] {
        var counts = [Int64](repeating: 0, count: 256)
        for code in outcomes { counts[Int(code)] += 1 }
        return counts.indices.filter { counts[$0] > 0 }.map {
            OutcomeTally(batchID: id, outcome: UInt8($0), deliveries: counts[$0])
        }
    }

    /// Returns the batches for the next attempts: one for each target, history and delay.
    package func retries(now: Microseconds) -> [RetryBatch] {
        struct Group: Hashable {
            let target: Int16
            let history: RetryHistory
            let isRetry: Bool
            let delay: Microseconds
        }
        var groups: [Group: [Int]] = [:]
        for position in outcomes.indices where OutcomeRange(code: outcomes[position]) == .retrying {
            let followUp = followUps[Int32(position)] ?? recovered(Int32(position), now: now)
            guard case .again(let at, let history, let target)? = followUp else { continue }
            let delay = Self.bucket(max(0, at - now))
            // Deliveries that are held, or were never sent, repeat no request. They stay in their queue; otherwise the
            // retry budget would slow down the pushes held during quiet hours. Deliveries without history are no
            // retries either: they move to their device's environment without a request, or their batch was rescued
            // after a first answer that named the other environment.
            let outcome = Outcome(rawValue: outcomes[position])
            let isHeld = outcome.isHeld || outcome == .retryingNotSent
            let group = Group(
                target: target,
                history: history,
                isRetry: isHeld ? batch.claimed.queue.isRetry : !history.isMove && history != .none,
                delay: delay
            )
            groups[group, default: []].append(position)
        }
        // Sorted by their first deliveries, so that the result depends only on the outcomes.
        return groups.sorted { $0.value[0] < $1.value[0] }.map { group, positions in
            RetryBatch(
                parentID: id,
                target: group.target,
                history: group.history,
                isRetry: group.isRetry,
                delayMicroseconds: group.delay,
                deviceIDs: positions.map { batch.claimed.deviceIDs[$0] },
                eventIDs: batch.claimed.eventID == nil ? positions.map { batch.claimed.eventIDs[$0] } : nil
            )
        }
    }

    /// Rounds a delay up, so that a few batches hold many retries.
    private static func bucket(_ delay: Microseconds) -> Microseconds {
        guard delay > 0 else { return 0 }
        let grain =
            delay < 2 * Micros.second ? Micros.second / 4 : delay < Micros.minute ? Micros.second : 5 * Micros.second
        return (delay + grain - 1) / grain * grain
    }
}

extension DeliveryResult {
    /// Whether the delivery moves to its device's environment without a request in this batch's environment.
    fileprivate var isUnasked: Bool {
        guard outcome == .retryingOtherEnvironment, case .again(_, let history, _)? = followUp else { return false }
        return !history.marks.contains(.otherEnvironment)
    }
}

extension FollowUp {
    fileprivate var isDoubt: Bool { if case .doubted = self { true } else { false } }
}

extension Outcome {
    /// Whether a provider gave the outcome and no further request follows.
    fileprivate var isFinalAnswer: Bool {
        switch kind {
        case .accepted, .gone, .rejected: true
        default: false
        }
    }
}
