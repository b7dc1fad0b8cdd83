package import FanfareCore
package import FanfareProviders
package import FanfareStages
package import FanfareStore
internal import PostgresClient
internal import PushTransport

/// The push that all devices of one event, locale and kind get.
package struct PushVariant: Sendable {
    package let event: EventRow
    package let content: PushContent
    package let deadline: Deadline

    /// Makes the push of some devices.
    package init(event: EventRow, content: PushContent, deadline: Deadline) {
        (self.event, self.content, self.deadline) = (event, content, deadline)
    }

    /// The rendered push.
    package var push: RenderedPush { content.push }
}

/// The identity of an app at its providers, such as its topics.
package typealias AppIdentity = [PushProvider: ProviderIdentity]

/// A claimed batch, rendered and with tokens: everything that sending needs.
///
/// It is immutable; the recorder keeps the outcomes of its deliveries.
package final class PreparedBatch: Sendable {
    package let claimed: ClaimedBatch
    package let owner: Int32
    package let rule: LoadedRule
    package let lane: Lane
    package let target: Target
    /// The same app's target in the other environment.
    package let otherTarget: Int16?
    package let variants: [PushVariant]
    package let deliveries: [PreparedDelivery]
    /// Whether a provider rejected the token of any delivery with an earlier push.
    package let hasDoubted: Bool
    /// The reasons of refused deliveries, by event; they contain names and sizes, no data.
    package let refusals: [Int64: String]
    /// The tokens of devices that can never receive a push, by position; evidence names the token.
    package let damaged: [Int32: String]
    /// The preference version of the app when preferences were read; nil for a rule without a category.
    package let askedAt: Int?
    /// The database's time before its deliveries were counted against caps, in microseconds since 1970.
    package let begunAt: Microseconds

    package init(
        claimed: ClaimedBatch,
        owner: Int32,
        rule: LoadedRule,
        lane: Lane,
        target: Target,
        otherTarget: Int16?,
        variants: [PushVariant],
        deliveries: [PreparedDelivery],
        refusals: [Int64: String] = [:],
        damaged: [Int32: String] = [:],
        askedAt: Int? = nil,
        begunAt: Microseconds = 0
    ) {
        self.claimed = claimed
        self.owner = owner
        self.rule = rule
        self.lane = lane
        self.target = target
        self.otherTarget = otherTarget
        self.variants = variants
        self.deliveries = deliveries
        hasDoubted = deliveries.contains { $0.doubtedBy != nil }
        self.refusals = refusals
        self.damaged = damaged
        self.askedAt = askedAt
        self.begunAt = begunAt
    }

    /// Returns whether a user of the app may have changed a preference since the batch was prepared.
    package func isOutdated(_ preferences: PreferenceVersions) -> Bool {
        askedAt.map { $0 != preferences.version(of: target.app) } ?? false
    }

    /// The share of the in-flight budget that its deliveries use.
    package var share: BudgetShare {
        BudgetShare(key: ProviderKey(app: target.app, provider: target.provider), lane: lane)
    }

    /// Returns the APNs topic of a delivery; nil at other providers.
    package func topic(of delivery: PreparedDelivery) -> String? { variants[Int(delivery.variant)].push.topic }

    /// Returns the batch and position of a delivery.
    package func place(of delivery: PreparedDelivery) -> BatchPosition {
        BatchPosition(batch: claimed.id, position: delivery.position)
    }

    /// Returns the device of a delivery.
    package func device(of delivery: PreparedDelivery) -> Int64 { claimed.deviceIDs[Int(delivery.position)] }

    /// Returns the breaker scopes that may hold a delivery back: its topic and its destination.
    package func scopes(of delivery: PreparedDelivery) -> [BreakerScope] {
        guard delivery.address.origin == nil, let topic = topic(of: delivery) else { return [delivery.address.scope] }
        return [.topic(topic), delivery.address.scope]
    }

    /// The environment in which the devices are registered, which may differ from the target's; evidence against their
    /// tokens is counted there.
    package var homeEnvironment: String {
        guard claimed.history.marks.contains(.otherEnvironment) else { return target.environment }
        return target.environment == "production" ? "sandbox" : "production"
    }

    /// Whether a request with a lost answer must not be repeated.
    package var isAtMostOnce: Bool { rule.compiled.definition.delivery == .atMostOnce }

    /// Counts the latencies of accepted pushes, from the emit or from the recipients' scheduled time.
    ///
    /// Pushes that were held without a known end are left out: by quiet hours, by a snooze, or behind a gate.
    ///
    /// - Parameters:
    ///   - results: results of this batch.
    ///   - now: when the results arrived, in database time.
    ///   - times: receives the counts.
    package func time(_ results: [DeliveryResult], at now: Microseconds, in times: inout AcceptanceTimes) {
        guard claimed.gate == 0, !claimed.history.marks.contains(.held) else { return }
        if claimed.eventID != nil {
            guard let event = variants.first?.event else { return }
            let begin = (claimed.dueAt ?? event.createdAt).microseconds
            let accepted = results.count { $0.outcome == .accepted }
            return times.count(accepted, of: event, since: begin, at: now, to: target, lane)
        }
        for result in results where result.outcome == .accepted {
            guard let delivery = delivery(at: result.position) else { continue }
            let event = variants[Int(delivery.variant)].event
            let begin = (claimed.dueAt ?? event.createdAt).microseconds
            times.count(1, of: event, since: begin, at: now, to: target, lane)
        }
    }

    /// Returns the prepared delivery at a position; deliveries are sorted by position.
    private func delivery(at position: Int32) -> PreparedDelivery? {
        // In most batches all deliveries are sent, so the index equals the position.
        let place = Int(position)
        if place < deliveries.count, deliveries[place].position == position { return deliveries[place] }
        var (low, high) = (0, min(place, deliveries.count))
        while low < high {
            let middle = (low + high) / 2
            if deliveries[middle].position < position { low = middle + 1 } else { high = middle }
        }
        return low < deliveries.count && deliveries[low].position == position ? deliveries[low] : nil
    }
}

extension OrderSnapshot {
    /// Returns whether a batch must be given back: its gate is closed, or its preferences are outdated.
    func stop(_ batch: PreparedBatch) -> Bool { gates.isClosed(batch.claimed.gate) || batch.isOutdated(preferences) }
}

/// The outcome of one delivery, with its follow-up.
package struct DeliveryResult: Sendable {
    package let position: Int32
    package let outcome: Outcome
    package var followUp: FollowUp?

    /// Creates a result.
    package init(position: Int32, outcome: Outcome, followUp: FollowUp? = nil) {
        (self.position, self.outcome, self.followUp) = (position, outcome, followUp)
    }

    /// Creates the result of a delivery that the provider accepted, without a follow-up.
    package init(acceptedAt position: Int32) {
        self.init(position: position, outcome: .accepted)
    }
}

/// The action for a delivery besides recording its outcome.
package enum FollowUp: Sendable {
    /// Another attempt in a target, not before a time in database time, judged with a history.
    case again(at: Microseconds, history: RetryHistory, target: Int16)
    /// The device is disabled, if it still holds the token and was registered no later.
    case prune(PruneEvidence)
    /// The device belongs to the environment that accepted its token.
    case moved
    /// The provider rejected the token, which may be the message's fault.
    case doubted
    /// The provider accepted a push to a device that was doubted.
    case trusted

    /// Whether it changes the device, which happens as soon as the outcome is recorded; retries are created when the
    /// batch is closed.
    package var isAboutToken: Bool {
        switch self {
        case .again: false
        case .prune, .moved, .doubted, .trusted: true
        }
    }
}

/// A push, identified by its batch and position.
package struct BatchPosition: Hashable, Sendable {
    package let batch: Int64
    package let position: Int32
}
