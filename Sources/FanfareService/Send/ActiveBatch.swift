internal import FanfareCore
internal import PushTransport

/// A batch at a sender: how far it is sent, what was answered since the recorder was last told.
final class ActiveBatch {
    let batch: PreparedBatch
    /// Index of the first pair not handed to the transport.
    var next = 0
    var outstanding = 0
    var results: [PairResult] = []
    /// Slots of W that ``results`` gives back once recorded.
    var slots = 0
    private var cancelVersion = 0
    private var cancelled: [Bool] = []
    private var heads: [HeaderBlock?]
    private var headGeneration = 0

    init(_ batch: PreparedBatch) {
        self.batch = batch
        heads = Array(repeating: nil, count: batch.variants.count)
    }

    var remaining: Int { batch.pairs.count - next }

    /// Looks again which events are cancelled, if anything was cancelled since the last time.
    func refresh(_ cancels: CancelIndex) {
        let version = cancels.version
        guard version != cancelVersion else { return }
        cancelVersion = version
        cancelled = batch.variants.map { cancels.contains($0.event) }
    }

    /// What is decided for a pair without a request: cancelled, or too late.
    func decision(_ pair: PreparedPair, now: Microseconds) -> Outcome? {
        let variant = Int(pair.variant)
        if !cancelled.isEmpty && cancelled[variant] { return .cancelled }
        let deadline = batch.variants[variant].deadline
        return deadline.at <= now ? deadline.outcome : nil
    }

    /// The header block of a variant, made once per credential.
    ///
    /// - Parameters:
    ///   - variant: its index.
    ///   - token: the credential to use.
    ///   - cache: the sender's last block.
    /// - Returns: the block, shared with other variants that have the same fields.
    /// - Throws: for a field that cannot be sent.
    func head(
        _ variant: Int32,
        token: ProviderTokens.Token,
        cache: HeadCache
    ) throws(HeaderError) -> HeaderBlock {
        if headGeneration != token.generation {
            headGeneration = token.generation
            heads = Array(repeating: nil, count: heads.count)
        }
        if let head = heads[Int(variant)] { return head }
        let head = try cache.block(batch.variants[Int(variant)].headers, token: token)
        heads[Int(variant)] = head
        return head
    }
}

/// The header block a sender made last: events of one rule mostly have the same fields, and to check and prepare a block
/// costs as much as to send a push.
final class HeadCache {
    private var headers: [(name: String, value: String)] = []
    private var generation = 0
    private var block: HeaderBlock?

    /// Gives the block for a message's fields and a credential.
    func block(
        _ headers: [(name: String, value: String)],
        token: ProviderTokens.Token
    ) throws(HeaderError) -> HeaderBlock {
        if let block, generation == token.generation, headers.elementsEqual(self.headers, by: ==) { return block }
        var fields: [HeaderField] = []
        for header in headers { fields.append(try HeaderField(header.name, header.value)) }
        fields.append(try HeaderField("content-type", "application/json"))
        fields.append(try HeaderField("authorization", token.authorization))
        let fresh = try HeaderBlock(fields, varyingName: "apns-id")
        (self.headers, generation, block) = (headers, token.generation, fresh)
        return fresh
    }
}
