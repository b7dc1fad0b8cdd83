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
    func head(_ variant: Int32, token: ProviderTokens.Token) throws(HeaderError) -> HeaderBlock {
        if headGeneration != token.generation {
            headGeneration = token.generation
            heads = Array(repeating: nil, count: heads.count)
        }
        if let head = heads[Int(variant)] { return head }
        var fields: [HeaderField] = []
        for header in batch.variants[Int(variant)].headers {
            fields.append(try HeaderField(header.name, header.value))
        }
        fields.append(try HeaderField("content-type", "application/json"))
        fields.append(try HeaderField("authorization", token.authorization))
        let head = try HeaderBlock(fields, varyingName: "apns-id")
        heads[Int(variant)] = head
        return head
    }
}
