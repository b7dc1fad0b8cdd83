/// One push that is to reach one device: the number of the event in its payload, and that of the device in its token.
struct Delivery: Hashable {
    let event: Int
    let device: Int
}

/// What the simulated provider says became of a request.
enum ReceivedFate: Equatable {
    case accepted
    /// Processed, and not answered.
    case unanswered
    /// The provider said that it did not process it.
    case notProcessed
    case rejected(UInt16)
}

/// A request for a delivery that a daemon had sent a processed request for before.
struct Repeat {
    /// Numbers of the daemons of the request before, and of this one.
    let previous: UInt16
    let daemon: UInt16
    let nanoseconds: UInt64
}

/// Compares what was to be sent with what the provider received and with what the database says.
///
/// All are multisets of deliveries; the provider's ledger is the witness, since no daemon can write it. Each delivery takes some
/// bytes of one array, so that there may be millions.
struct DeliveryAudit {
    private struct Cell {
        var requests: UInt8 = 0
        var accepted: UInt8 = 0
        var delivered: UInt8 = 0
        /// 1 and more: the final outcome, by its place in `names`.
        var outcome: UInt8 = 0
        /// Who sent the last request that was processed.
        var daemon: UInt16 = 0
    }

    /// How many devices get each event, numbered from 1.
    let devices: Int
    /// How many events were emitted, numbered from 1.
    var events: Int
    /// By event, and by device within an event.
    private var cells: [Cell] = []
    /// What nobody can have asked for, whatever is emitted.
    private var strange: [Delivery] = []
    private var names: [String] = []
    private(set) var recordedTwice: [Delivery] = []
    /// Requests beyond the first for the same delivery, of those that the provider processed.
    private(set) var repeats: [Repeat] = []
    /// Those of them that came although the first one had been answered.
    private(set) var acceptedTwice = 0
    /// Devices that the provider's answers allow to be disabled.
    var dead: Set<Int> = []
    private(set) var wronglyPruned: Set<Int> = []
    private(set) var pruned = 0

    /// Begins a comparison.
    ///
    /// - Parameters:
    ///   - devices: how many get each event.
    ///   - events: how many were emitted; may be said later.
    init(devices: Int, events: Int = 0) {
        self.devices = devices
        self.events = events
    }

    /// Notes a request in the ledger.
    mutating func receive(_ delivery: Delivery, _ fate: ReceivedFate, daemon: UInt16 = 0, nanoseconds: UInt64 = 0) {
        guard let place = place(of: delivery) else { return }
        cells[place].requests = cells[place].requests.oneMore
        guard fate == .accepted || fate == .unanswered else { return }
        if cells[place].delivered > 0 {
            repeats.append(Repeat(previous: cells[place].daemon, daemon: daemon, nanoseconds: nanoseconds))
        }
        cells[place].delivered = cells[place].delivered.oneMore
        cells[place].daemon = daemon
        guard fate == .accepted else { return }
        if cells[place].accepted > 0 { acceptedTwice += 1 }
        cells[place].accepted = cells[place].accepted.oneMore
    }

    /// Notes a final outcome in the database.
    mutating func record(_ delivery: Delivery, outcome: String) {
        guard let place = place(of: delivery) else { return }
        if cells[place].outcome > 0 { recordedTwice.append(delivery) }
        let name = names.firstIndex(of: outcome) ?? names.count
        if name == names.count { names.append(outcome) }
        let isContradiction = cells[place].outcome > 0 && outcome == "accepted"
        // Of two the stranger one is kept, to be found.
        if !isContradiction { cells[place].outcome = UInt8(name + 1) }
    }

    /// Notes a disabled device.
    mutating func disabled(_ device: Int) {
        pruned += 1
        if !dead.contains(device) { wronglyPruned.insert(device) }
    }

    /// How many deliveries were to be sent.
    var expected: Int { events * devices }

    /// Deliveries that were sent or recorded and that nobody asked for.
    var unexpected: [Delivery] {
        strange + deliveries(from: expected, to: cells.count) { $0.requests > 0 || $0.outcome > 0 }
    }

    /// Deliveries that reached the provider.
    var sent: Int { cells.count { $0.delivered > 0 } }

    /// Deliveries that never reached the provider and whose outcome does not say so.
    var lost: [Delivery] {
        let accepted = code("accepted")
        return missing
            + deliveries { $0.accepted == 0 && ($0.outcome == 0 || $0.outcome == accepted) }
    }

    /// Deliveries without any final outcome.
    var unrecorded: [Delivery] { missing + deliveries { $0.outcome == 0 } }

    /// Deliveries that the provider accepted while the database says something else.
    ///
    /// `unknown` is the honest word where no answer came.
    var contradicted: [Delivery] {
        let honest = [0, code("accepted"), code("unknown")]
        return deliveries { $0.accepted > 0 && !honest.contains($0.outcome) }
    }

    /// How many requests were repeated.
    var duplicates: Int { repeats.count }

    /// How many deliveries ended so.
    func count(_ outcome: String) -> Int {
        guard let code = code(outcome) else { return 0 }
        return cells.count { $0.outcome == code }
    }

    private func code(_ outcome: String) -> UInt8? {
        names.firstIndex(of: outcome).map { UInt8($0 + 1) }
    }

    /// Deliveries beyond all that was heard of.
    private var missing: [Delivery] {
        cells.count < expected ? (cells.count..<expected).map(delivery) : []
    }

    /// The expected deliveries, or those of a range, whose cells are as wanted.
    private func deliveries(from: Int = 0, to end: Int? = nil, where isMeant: (Cell) -> Bool) -> [Delivery] {
        let end = end ?? min(cells.count, expected)
        guard from < end else { return [] }
        return (from..<end).filter { isMeant(cells[$0]) }.map(delivery)
    }

    private func delivery(_ place: Int) -> Delivery {
        Delivery(event: place / devices + 1, device: place % devices + 1)
    }

    /// The place of a delivery's cell, made if need be; nil for a device or an event that cannot be.
    private mutating func place(of delivery: Delivery) -> Int? {
        guard 1...devices ~= delivery.device, 1...1_000_000 ~= delivery.event else {
            strange.append(delivery)
            return nil
        }
        let place = (delivery.event - 1) * devices + delivery.device - 1
        if place >= cells.count {
            cells.append(contentsOf: repeatElement(Cell(), count: delivery.event * devices - cells.count))
        }
        return place
    }
}

extension UInt8 {
    /// One more, or as many as there can be.
    fileprivate var oneMore: UInt8 { self == .max ? self : self + 1 }
}
