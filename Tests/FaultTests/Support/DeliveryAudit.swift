/// One delivery: the number of the event in its payload, and that of the device in its token.
struct Delivery: Hashable {
    let event: Int
    let device: Int
}

/// The result of a request in the simulated provider's ledger.
enum ReceivedFate: Equatable {
    case accepted
    /// Processed, without a response.
    case unanswered
    /// Reported as not processed.
    case notProcessed
    case rejected(UInt16)
}

/// A request for a delivery for which a daemon had sent a processed request before.
struct Repeat {
    /// The numbers of the daemons that sent the request before and this one.
    let previous: UInt16
    let daemon: UInt16
    let nanoseconds: UInt64
}

/// Compares the deliveries that were to be sent with the provider's ledger and with the database.
///
/// All three are multisets of deliveries. The ledger is the reference, because no daemon can write it. Each delivery
/// takes some bytes of one array, so that there may be millions.
struct DeliveryAudit {
    private struct Cell {
        var requests: UInt8 = 0
        var accepted: UInt8 = 0
        var delivered: UInt8 = 0
        /// The final outcome: 0 for none, else its position in `names` plus 1.
        var outcome: UInt8 = 0
        /// The daemon that sent the last processed request.
        var daemon: UInt16 = 0
    }

    /// The number of devices that get each event, numbered from 1.
    let devices: Int
    /// The number of emitted events, numbered from 1.
    var events: Int
    /// The cells by event, and by device within an event.
    private var cells: [Cell] = []
    /// Deliveries that no event can cause.
    private var strange: [Delivery] = []
    private var names: [String] = []
    private(set) var recordedTwice: [Delivery] = []
    /// The processed requests for a delivery after its first one.
    private(set) var repeats: [Repeat] = []
    /// The number of requests that were accepted after an earlier one for the same delivery had been accepted.
    private(set) var acceptedTwice = 0
    /// The devices that the provider's responses allow to be disabled.
    var dead: Set<Int> = []
    private(set) var wronglyPruned: Set<Int> = []
    private(set) var pruned = 0

    /// Creates an audit.
    ///
    /// - Parameters:
    ///   - devices: the number of devices that get each event.
    ///   - events: the number of emitted events; may be set later.
    init(devices: Int, events: Int = 0) {
        self.devices = devices
        self.events = events
    }

    /// Records a request of the ledger.
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

    /// Records a final outcome of the database.
    mutating func record(_ delivery: Delivery, outcome: String) {
        guard let place = place(of: delivery) else { return }
        if cells[place].outcome > 0 { recordedTwice.append(delivery) }
        let name = names.firstIndex(of: outcome) ?? names.count
        if name == names.count { names.append(outcome) }
        let isContradiction = cells[place].outcome > 0 && outcome == "accepted"
        // Of two outcomes, the contradicting one is kept, so that it is reported.
        if !isContradiction { cells[place].outcome = UInt8(name + 1) }
    }

    /// Records a disabled device.
    mutating func disabled(_ device: Int) {
        pruned += 1
        if !dead.contains(device) { wronglyPruned.insert(device) }
    }

    /// The number of deliveries that were to be sent.
    var expected: Int { events * devices }

    /// The deliveries that were sent or recorded without an event.
    var unexpected: [Delivery] {
        strange + deliveries(from: expected, to: cells.count) { $0.requests > 0 || $0.outcome > 0 }
    }

    /// The number of deliveries that reached the provider.
    var sent: Int { cells.count { $0.delivered > 0 } }

    /// The deliveries that the provider never accepted, without an outcome or recorded as accepted.
    var lost: [Delivery] {
        let accepted = code("accepted")
        return missing
            + deliveries { $0.accepted == 0 && ($0.outcome == 0 || $0.outcome == accepted) }
    }

    /// The deliveries without a final outcome.
    var unrecorded: [Delivery] { missing + deliveries { $0.outcome == 0 } }

    /// The deliveries that the provider accepted, with another outcome in the database.
    ///
    /// `unknown` is correct for a request without a response.
    var contradicted: [Delivery] {
        let honest = [0, code("accepted"), code("unknown")]
        return deliveries { $0.accepted > 0 && !honest.contains($0.outcome) }
    }

    /// The number of repeated requests.
    var duplicates: Int { repeats.count }

    /// Returns the number of deliveries with an outcome.
    func count(_ outcome: String) -> Int {
        guard let code = code(outcome) else { return 0 }
        return cells.count { $0.outcome == code }
    }

    private func code(_ outcome: String) -> UInt8? {
        names.firstIndex(of: outcome).map { UInt8($0 + 1) }
    }

    /// The deliveries beyond the last recorded cell.
    private var missing: [Delivery] {
        cells.count < expected ? (cells.count..<expected).map(delivery) : []
    }

    /// Returns the expected deliveries, or those of a range, whose cells match.
    private func deliveries(from: Int = 0, to end: Int? = nil, where isMeant: (Cell) -> Bool) -> [Delivery] {
        let end = end ?? min(cells.count, expected)
        guard from < end else { return [] }
        return (from..<end).filter { isMeant(cells[$0]) }.map(delivery)
    }

    private func delivery(_ place: Int) -> Delivery {
        Delivery(event: place / devices + 1, device: place % devices + 1)
    }

    /// Returns the position of a delivery's cell, and adds the cell if necessary; nil for an impossible device or
    /// event.
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
    /// The next number, saturating at the largest.
    fileprivate var oneMore: UInt8 { self == .max ? self : self + 1 }
}
