internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient
internal import PushTransport

/// What all devices of one event, locale and kind get.
struct PushVariant: Sendable {
    let event: EventRow
    let content: PushContent
    let deadline: Deadline

    /// As it was rendered.
    var push: RenderedPush { content.push }
}

/// What an app is called at its providers.
typealias AppIdentity = [PushProvider: ProviderIdentity]

/// A claimed batch, rendered and with tokens: all that sending needs.
///
/// Never changes; what becomes of its deliveries is kept by the recorder.
final class PreparedBatch: Sendable {
    let claimed: ClaimedBatch
    let owner: Int32
    let rule: LoadedRule
    let lane: Lane
    let target: Target
    /// The same app's target in the other environment.
    let otherTarget: Int16?
    let variants: [PushVariant]
    let deliveries: [PreparedDelivery]
    /// Whether the token of any delivery was called bad for another push.
    let hasDoubted: Bool
    /// Why deliveries are refused that are decided already, by event: names and sizes, no data.
    let refusals: [Int64: String]
    /// The tokens of devices that nothing can be sent to, by position: evidence names them.
    let damaged: [Int32: String]
    /// How often users of the app had said what they want when they were asked; nil for a rule without a category.
    let askedAt: Int?
    /// The database's time before its users were granted anything against caps, in microseconds since 1970.
    let begunAt: Microseconds

    init(
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

    /// Whether a user of its app may want something else since it was prepared.
    func isOutdated(_ preferences: PreferenceVersions) -> Bool {
        askedAt.map { $0 != preferences.version(of: target.app) } ?? false
    }

    /// Whose part of W its deliveries take.
    var share: BudgetShare {
        BudgetShare(key: ProviderKey(app: target.app, provider: target.provider), lane: lane)
    }

    /// The APNs topic that a delivery is for; nil at other providers.
    func topic(of delivery: PreparedDelivery) -> String? { variants[Int(delivery.variant)].push.topic }

    /// Which push a delivery is.
    func place(of delivery: PreparedDelivery) -> BatchPosition {
        BatchPosition(batch: claimed.id, position: delivery.position)
    }

    /// The device that a delivery is for.
    func device(of delivery: PreparedDelivery) -> Int64 { claimed.deviceIDs[Int(delivery.position)] }

    /// What may keep a delivery back: its topic, and where it goes.
    func scopes(of delivery: PreparedDelivery) -> [BreakerScope] {
        guard delivery.address.origin == nil, let topic = topic(of: delivery) else { return [delivery.address.scope] }
        return [.topic(topic), delivery.address.scope]
    }

    /// The environment that the devices are registered in, whichever they are sent to: what is said against their tokens
    /// is said about devices of this one.
    var homeEnvironment: String {
        guard claimed.history.marks.contains(.otherEnvironment) else { return target.environment }
        return target.environment == "production" ? "sandbox" : "production"
    }

    /// Whether an answer that was lost must not be sent again.
    var isAtMostOnce: Bool { rule.compiled.definition.delivery == .atMostOnce }
}

/// What became of one delivery, and what follows.
struct DeliveryResult: Sendable {
    let position: Int32
    let outcome: Outcome
    var followUp: FollowUp?

    /// Something became of a delivery.
    init(position: Int32, outcome: Outcome, followUp: FollowUp? = nil) {
        (self.position, self.outcome, self.followUp) = (position, outcome, followUp)
    }

    /// The provider took it, and nothing follows.
    init(acceptedAt position: Int32) {
        self.init(position: position, outcome: .accepted)
    }
}

/// What is done for a delivery beside recording its outcome.
enum FollowUp: Sendable {
    /// Another attempt, not before a time (database clock), judged with a history, in a target.
    case again(at: Microseconds, history: RetryHistory, target: Int16)
    /// The device is disabled, if it still holds the token and was registered no later.
    case prune(PruneEvidence)
    /// The device belongs to the environment that accepted its token.
    case moved
    /// The provider called the token bad, which may be the message's fault.
    case doubted
    /// The provider took a push to a device that was doubted.
    case trusted

    /// Whether it changes the device, which is done as soon as the outcome is recorded; attempts are made at the close.
    var isAboutToken: Bool {
        switch self {
        case .again: false
        case .prune, .moved, .doubted, .trusted: true
        }
    }
}
