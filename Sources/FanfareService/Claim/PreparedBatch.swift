internal import FanfareCore
internal import PostgresClient
internal import PushTransport

/// What all devices of one event, locale and kind get.
struct PushVariant: Sendable {
    let event: EventRow
    /// The provider's headers without authorization and the delivery's id.
    let headers: [(name: String, value: String)]
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
    /// The request path; holds the token.
    let path: [UInt8]
    /// `apns-id`, equal on every retry.
    let deliveryID: [UInt8]
    let registeredAt: Microseconds
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

    init(
        claimed: ClaimedBatch,
        owner: Int32,
        rule: LoadedRule,
        lane: Lane,
        target: Target,
        otherTarget: Int16?,
        variants: [PushVariant],
        pairs: [PreparedPair]
    ) {
        self.claimed = claimed
        self.owner = owner
        self.rule = rule
        self.lane = lane
        self.target = target
        self.otherTarget = otherTarget
        self.variants = variants
        self.pairs = pairs
    }

    /// Who shares W's halves with whom.
    var providerKey: ProviderKey { ProviderKey(app: target.app, provider: target.platform) }

    /// Whether an answer that was lost must not be sent again.
    var isAtMostOnce: Bool { rule.compiled.definition.delivery == .atMostOnce }
}

/// What became of one pair, and what follows.
struct PairResult: Sendable {
    let position: Int32
    let outcome: Outcome
    var followUp: FollowUp?
}

/// What the close of a batch does for a pair beside recording its outcome.
enum FollowUp: Sendable {
    /// Another attempt, not before a time (database clock), judged with a history, in a target.
    case again(at: Microseconds, history: RetryHistory, target: Int16)
    /// The device is disabled, if it still holds the token and was registered no later.
    case prune(PruneEvidence)
    /// The device belongs to the environment that accepted its token.
    case moved
}
