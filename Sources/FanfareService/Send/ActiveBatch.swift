internal import FanfareCore
internal import PushTransport

/// A batch at a sender: how far it is sent, what was answered since the recorder was last told.
final class ActiveBatch {
    private struct OriginVariant: Hashable {
        let origin: Endpoint
        let variant: Int32
    }

    let batch: PreparedBatch
    /// Index of the first pair not handed to the transport.
    var next = 0
    var results: [PairResult] = []
    /// Slots of W that ``results`` gives back once recorded.
    var slots = 0
    private var cancelVersion = 0
    private var cancelled: [Bool] = []
    private var heads: [HeaderBlock?]
    private var originHeads: [OriginVariant: HeaderBlock] = [:]
    private var headGeneration = -1

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

    /// When a pair is too late, in database time.
    func deadline(ofPair index: Int) -> Microseconds { batch.variants[Int(batch.pairs[index].variant)].deadline.at }

    /// Whether any of its events was cancelled, as of the last look.
    var isAnyCancelled: Bool { cancelled.contains(true) }

    /// What is decided for a pair without a request: cancelled, or too late.
    func decision(_ pair: PreparedPair, now: Microseconds) -> Outcome? {
        let variant = Int(pair.variant)
        if !cancelled.isEmpty && cancelled[variant] { return .cancelled }
        let deadline = batch.variants[variant].deadline
        return deadline.at <= now ? deadline.outcome : nil
    }

    /// The header block of a variant, made once per credential and origin.
    ///
    /// - Parameters:
    ///   - variant: its index.
    ///   - generation: of the credential to use.
    ///   - origin: where it goes; nil for the provider's one endpoint.
    ///   - make: makes it.
    /// - Returns: the block, shared with other pairs.
    /// - Throws: for a field that cannot be sent.
    func head(
        _ variant: Int32,
        generation: Int,
        origin: Endpoint? = nil,
        make: () throws(HeaderError) -> HeaderBlock
    ) throws(HeaderError) -> HeaderBlock {
        if headGeneration != generation {
            headGeneration = generation
            heads = Array(repeating: nil, count: heads.count)
            originHeads = [:]
        }
        guard let origin else {
            if let head = heads[Int(variant)] { return head }
            let head = try make()
            heads[Int(variant)] = head
            return head
        }
        let place = OriginVariant(origin: origin, variant: variant)
        if let head = originHeads[place] { return head }
        let head = try make()
        originHeads[place] = head
        return head
    }
}
