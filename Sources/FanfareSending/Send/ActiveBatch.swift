internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import PushTransport
internal import Threading

/// A batch at a sender: the deliveries that wait, and the results not yet passed to the recorder.
final class ActiveBatch {
    /// The deliveries that wait for one destination.
    struct Line {
        /// The origin; nil for the provider's single endpoint.
        let origin: Endpoint?
        /// The device of the line, if that device fails or has as many requests in flight as it may; nil for all other
        /// devices.
        var device: Int64?
        /// The breaker scopes that must admit a request: a device or topic first, the destination last.
        let scopes: [BreakerScope]
        /// The indices of the deliveries; the last one is sent first.
        fileprivate(set) var waiting: [Int]
    }

    let batch: PreparedBatch
    /// The cached header blocks of the batch's variants.
    let heads: VariantHeads
    /// When a sender received the batch (steady clock).
    let since: Microseconds
    /// The lines by destination; a line keeps its index.
    private(set) var lines: [Line]
    /// The number of deliveries that wait to be sent.
    private(set) var remaining: Int
    /// Whether the batch was given back; deliveries that the transport returns are given back too.
    private(set) var isLeft = false
    var results: [DeliveryResult] = []
    /// The budget slots that are released once ``results`` are recorded.
    var slots = 0
    private var heldVersion = 0
    private var cancelVersion = 0
    /// The outcome of each variant's event if it is cancelled.
    private var cancelled: [Outcome?] = []

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

    // MARK: Waiting deliveries

    /// Removes the next delivery of a line; returns nil if none waits.
    func takeNext(of line: Int) -> Int? {
        guard let index = lines[line].waiting.popLast() else { return nil }
        remaining -= 1
        return index
    }

    /// Moves the waiting deliveries of failing devices to lines of their own.
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

    /// Puts a removed delivery into its device's own line: first if it came from there, otherwise last.
    func quarantined(_ index: Int, isNext: Bool) {
        let line = ownLine(of: index)
        lines[line].waiting.insert(index, at: isNext ? lines[line].waiting.count : 0)
        remaining += 1
    }

    private func ownLine(of index: Int) -> Int {
        let delivery = batch.deliveries[index]
        let device = batch.device(of: delivery)
        if let line = lines.firstIndex(where: { $0.device == device }) { return line }
        // The device's scope comes first, so that a failing device is no probe for a shared scope.
        let scopes = [.device(device)] + batch.scopes(of: delivery)
        lines.append(Line(origin: delivery.address.origin, device: device, scopes: scopes, waiting: []))
        return lines.count - 1
    }

    /// Puts a delivery back into its line.
    ///
    /// - Parameters:
    ///   - index: the index of the delivery.
    ///   - isLast: whether all others of its line go first; otherwise it is the next.
    func putBack(_ index: Int, last isLast: Bool = false) {
        let delivery = batch.deliveries[index]
        let (scopes, device) = (batch.scopes(of: delivery), batch.device(of: delivery))
        let own = lines.firstIndex { $0.device == device }
        guard let line = own ?? lines.firstIndex(where: { $0.scopes == scopes }) else { return }
        lines[line].waiting.insert(index, at: isLast ? 0 : lines[line].waiting.count)
        remaining += 1
    }

    /// Removes the waiting deliveries that are decided without a request, because they are cancelled or expired.
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

    /// Gives the batch back.
    ///
    /// - Returns: the positions of the waiting deliveries.
    func leave() -> [Int32] {
        isLeft = true
        defer { (lines, remaining) = ([], 0) }
        return lines.flatMap(\.waiting).map { batch.deliveries[$0].position }
    }

    // MARK: Decided deliveries

    /// Checks again which events are cancelled, if there were cancellations since the last check.
    func refresh(_ cancels: CancelIndex) {
        let version = cancels.version
        guard version != cancelVersion else { return }
        cancelVersion = version
        cancelled = batch.variants.map { cancels.outcome(of: $0.event) }
    }

    /// Returns a delivery's deadline, in database time.
    func deadline(ofDelivery index: Int) -> Microseconds {
        batch.variants[Int(batch.deliveries[index].variant)].deadline.at
    }

    /// Whether any of its events was cancelled, as of the last check.
    var isAnyCancelled: Bool { cancelled.contains { $0 != nil } }

    /// Returns the outcome of a delivery that is cancelled or expired; nil if it may be sent.
    func decision(_ delivery: PreparedDelivery, now: Microseconds) -> Outcome? {
        let variant = Int(delivery.variant)
        if !cancelled.isEmpty, let outcome = cancelled[variant] { return outcome }
        let deadline = batch.variants[variant].deadline
        return deadline.at <= now ? deadline.outcome : nil
    }
}
