internal import FanfareCore
internal import FanfareStore
internal import PostgresClient
internal import PushCrypto
internal import PushTransport

/// What all devices of one event, locale and kind get.
struct PushVariant: Sendable {
    let event: EventRow
    let push: RenderedPush
    /// What of ``push`` all devices share, ready to be sent; for Web Push before it is encrypted.
    let body: PushBody
    let deadline: Deadline
}

/// One pair that is to be sent.
struct PreparedPair: Sendable {
    /// Where it stands in the batch.
    let position: Int32
    let variant: Int32
    /// Kept for evidence and log hashes; never logged itself.
    let token: String
    let address: PushAddress
    /// The value of the delivery header, equal on every retry; empty if there is none.
    let deliveryID: [UInt8]
    let registeredAt: Microseconds
}

/// What an app is called at its providers.
struct AppIdentity: Sendable {
    /// APNs: the bundle id, without a push type's suffix.
    var topic = ""
    /// FCM: the request path, which names the project.
    var fcmPath: [UInt8] = []
}

/// Where a pair's request goes; holds the token.
enum PushAddress: Sendable {
    /// The provider's one endpoint: the path, and what is inserted into the shared body.
    case shared(path: [UInt8], insertion: [UInt8])
    /// A browser's subscription.
    case subscription(HTTPSURL, SubscriptionKeys)

    /// The endpoint of a provider that has many; else nil.
    var origin: Endpoint? {
        if case .subscription(let url, _) = self { return url.origin }
        return nil
    }

    /// What stops when the provider cannot be sent to.
    var scope: BreakerScope { origin.map(BreakerScope.origin) ?? .provider }
}

/// A claimed batch, rendered and with tokens: all that sending needs.
///
/// Never changes; what becomes of its pairs is kept by the recorder.
final class PreparedBatch: Sendable {
    let claimed: ClaimedBatch
    let owner: Int32
    let rule: LoadedRule
    let lane: Lane
    let target: Target
    /// The same app's target in the other environment.
    let otherTarget: Int16?
    let variants: [PushVariant]
    let pairs: [PreparedPair]
    /// Why pairs are refused that are decided already, by event: names and sizes, no data.
    let refusals: [Int64: String]

    init(
        claimed: ClaimedBatch,
        owner: Int32,
        rule: LoadedRule,
        lane: Lane,
        target: Target,
        otherTarget: Int16?,
        variants: [PushVariant],
        pairs: [PreparedPair],
        refusals: [Int64: String] = [:]
    ) {
        self.claimed = claimed
        self.owner = owner
        self.rule = rule
        self.lane = lane
        self.target = target
        self.otherTarget = otherTarget
        self.variants = variants
        self.pairs = pairs
        self.refusals = refusals
    }

    /// Whose part of W its pairs take.
    var share: BudgetShare {
        BudgetShare(key: ProviderKey(app: target.app, provider: target.platform), lane: lane)
    }

    /// The APNs topic that a pair is for; nil at other providers.
    func topic(of pair: PreparedPair) -> String? { variants[Int(pair.variant)].push.topic }

    /// The environment that the devices are registered in, whichever they are sent to: what is said against their tokens
    /// is said about devices of this one.
    var homeEnvironment: String {
        guard claimed.history.marks.contains(.otherEnvironment) else { return target.environment }
        return target.environment == "production" ? "sandbox" : "production"
    }

    /// Whether an answer that was lost must not be sent again.
    var isAtMostOnce: Bool { rule.compiled.definition.delivery == .atMostOnce }
}

/// What became of one pair, and what follows.
struct PairResult: Sendable {
    let position: Int32
    let outcome: Outcome
    var followUp: FollowUp?
}

/// What is done for a pair beside recording its outcome.
enum FollowUp: Sendable {
    /// Another attempt, not before a time (database clock), judged with a history, in a target.
    case again(at: Microseconds, history: RetryHistory, target: Int16)
    /// The device is disabled, if it still holds the token and was registered no later.
    case prune(PruneEvidence)
    /// The device belongs to the environment that accepted its token.
    case moved

    /// Whether it changes the device, which is done as soon as the outcome is recorded; attempts are made at the close.
    var isAboutToken: Bool {
        switch self {
        case .again: false
        case .prune, .moved: true
        }
    }
}
