internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import PushTransport
internal import Threading

/// A batch at a sender: how far it is sent, what was answered since the recorder was last told.
final class ActiveBatch {
    /// The deliveries that wait to be sent to one place.
    struct Line {
        /// Nil for the provider's one endpoint.
        let origin: Endpoint?
        /// The one device that it is for, of those that fail or have as much in flight as they may; nil for all others.
        var device: Int64?
        /// What the provider may let through: the last one is where it goes, a topic comes before.
        let scopes: [BreakerScope]
        /// Indices of deliveries; the last goes first.
        fileprivate(set) var waiting: [Int]
    }

    let batch: PreparedBatch
    /// The header blocks of its variants.
    let heads: VariantHeads
    /// When a sender got it (steady clock).
    let since: Microseconds
    /// One for each place; a place keeps its index.
    private(set) var lines: [Line]
    /// How many deliveries wait to be sent.
    private(set) var remaining: Int
    /// It was given back: what of it the transport gives back goes the same way.
    private(set) var isLeft = false
    var results: [DeliveryResult] = []
    /// Slots of W that ``results`` gives back once recorded.
    var slots = 0
    private var heldVersion = 0
    private var cancelVersion = 0
    private var cancelled: [Bool] = []

    init(_ batch: PreparedBatch, since: Microseconds = Clocks.steady) {
        self.batch = batch
        self.since = since
        heads = VariantHeads(count: batch.variants.count)
        lines = Self.lines(of: batch)
        remaining = batch.deliveries.count
    }

    private static func lines(of batch: PreparedBatch) -> [Line] {
        guard let first = batch.deliveries.first else { return [] }
        let topic = batch.topic(of: first)
        if first.address.origin == nil, batch.variants.allSatisfy({ $0.push.topic == topic }) {
            return [Line(origin: nil, scopes: batch.scopes(of: first), waiting: batch.deliveries.indices.reversed())]
        }
        var lines: [Line] = []
        var places: [[BreakerScope]: Int] = [:]
        for index in batch.deliveries.indices.reversed() {
            let delivery = batch.deliveries[index]
            let scopes = batch.scopes(of: delivery)
            if let place = places[scopes] {
                lines[place].waiting.append(index)
            } else {
                places[scopes] = lines.count
                lines.append(Line(origin: delivery.address.origin, scopes: scopes, waiting: [index]))
            }
        }
        return lines
    }

    // MARK: What waits

    /// Takes the next delivery of a line; nil if none waits.
    func takeNext(of line: Int) -> Int? {
        guard let index = lines[line].waiting.popLast() else { return nil }
        remaining -= 1
        return index
    }

    /// Lets what waits for devices that fail wait in lines of their own.
    func separate(_ held: HeldDevices) {
        guard held.version != heldVersion else { return }
        heldVersion = held.version
        for line in lines.indices where lines[line].device == nil && lines[line].origin != nil {
            let apart = lines[line].waiting.filter { held.ids.contains(batch.device(of: batch.deliveries[$0])) }
            guard !apart.isEmpty else { continue }
            lines[line].waiting.removeAll { held.ids.contains(batch.device(of: batch.deliveries[$0])) }
            for index in apart.reversed() { lines[ownLine(of: index)].waiting.insert(index, at: 0) }
        }
    }

    /// Lets a delivery that was taken wait in the line of its device's own: as the next if it was taken from there, else as the last.
    func quarantined(_ index: Int, isNext: Bool) {
        let line = ownLine(of: index)
        lines[line].waiting.insert(index, at: isNext ? lines[line].waiting.count : 0)
        remaining += 1
    }

    private func ownLine(of index: Int) -> Int {
        let delivery = batch.deliveries[index]
        let device = batch.device(of: delivery)
        if let line = lines.firstIndex(where: { $0.device == device }) { return line }
        // Its own comes first: a device that fails is no probe of what others share.
        let scopes = [.device(device)] + batch.scopes(of: delivery)
        lines.append(Line(origin: delivery.address.origin, device: device, scopes: scopes, waiting: []))
        return lines.count - 1
    }

    /// Lets a delivery wait again.
    ///
    /// - Parameters:
    ///   - index: which.
    ///   - isLast: whether all others of its line go first; it is the next otherwise.
    func putBack(_ index: Int, last isLast: Bool = false) {
        let delivery = batch.deliveries[index]
        let (scopes, device) = (batch.scopes(of: delivery), batch.device(of: delivery))
        let own = lines.firstIndex { $0.device == device }
        guard let line = own ?? lines.firstIndex(where: { $0.scopes == scopes }) else { return }
        lines[line].waiting.insert(index, at: isLast ? 0 : lines[line].waiting.count)
        remaining += 1
    }

    /// Takes what waits and is decided without a request, by what is known of cancellations and by the time.
    func takeDecided(now: Microseconds) -> [(index: Int, outcome: Outcome)] {
        guard isAnyCancelled || batch.variants.contains(where: { $0.deadline.at <= now }) else { return [] }
        var decided: [(index: Int, outcome: Outcome)] = []
        for line in lines.indices {
            lines[line].waiting.removeAll { index in
                guard let outcome = decision(batch.deliveries[index], now: now) else { return false }
                decided.append((index, outcome))
                return true
            }
        }
        remaining -= decided.count
        return decided
    }

    /// Gives it back.
    ///
    /// - Returns: the positions of what waits.
    func leave() -> [Int32] {
        isLeft = true
        defer { (lines, remaining) = ([], 0) }
        return lines.flatMap(\.waiting).map { batch.deliveries[$0].position }
    }

    // MARK: What is decided

    /// Looks again which events are cancelled, if anything was cancelled since the last time.
    func refresh(_ cancels: CancelIndex) {
        let version = cancels.version
        guard version != cancelVersion else { return }
        cancelVersion = version
        cancelled = batch.variants.map { cancels.contains($0.event) }
    }

    /// When a delivery is too late, in database time.
    func deadline(ofDelivery index: Int) -> Microseconds {
        batch.variants[Int(batch.deliveries[index].variant)].deadline.at
    }

    /// Whether any of its events was cancelled, as of the last look.
    var isAnyCancelled: Bool { cancelled.contains(true) }

    /// What is decided for a delivery without a request: cancelled, or too late.
    func decision(_ delivery: PreparedDelivery, now: Microseconds) -> Outcome? {
        let variant = Int(delivery.variant)
        if !cancelled.isEmpty && cancelled[variant] { return .cancelled }
        let deadline = batch.variants[variant].deadline
        return deadline.at <= now ? deadline.outcome : nil
    }
}
