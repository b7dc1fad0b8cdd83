internal import FanfareCore
internal import FanfareStages
internal import FanfareStore

/// When a claimer looks behind which of the gates that have a rate.
///
/// A look behind one locks its rate. So none is made where nothing waits: of gates that no next look is known of it is asked first,
/// of all at once and not too often, since one-off pushes bring many looks a second.
struct PacedTurns {
    /// How long what was asked is good for.
    private static let interval = Micros.second / 10
    /// How long a gate waits for room at the senders.
    private static let roomDelay = 50 * Micros.millisecond
    /// How long a gate waits at most: its rate may be another by then.
    private static let longest = Micros.second

    private var looks: [Int32: Microseconds] = [:]
    /// The gate that gave something last.
    private var last: Int32 = 0
    private var askedAt: Microseconds?
    private var isAsked = false
    /// When something is due behind a gate that no next look is known of.
    private var soonest: Microseconds?
    private var areUnknown = false

    /// Begins a look.
    ///
    /// - Parameters:
    ///   - gates: those that have a rate and are open.
    ///   - now: a steady time.
    /// - Returns: the gates to ask what waits behind.
    mutating func toAsk(of gates: [Gate], at now: Microseconds) -> [Gate] {
        let unknown = gates.filter { looks[$0.id] == nil }
        areUnknown = !unknown.isEmpty
        isAsked = areUnknown && askedAt.map { now - $0 >= Self.interval } ?? true
        return isAsked ? unknown : []
    }

    /// Takes over what was asked.
    mutating func asked(_ rows: [NextPaced.Row], at now: Microseconds) {
        askedAt = now
        for row in rows where row.wait <= 0 { looks[row.gate] = now }
        soonest = rows.map(\.wait).filter { $0 > 0 }.min().map { now + $0 }
    }

    /// Those whose turn it is, beginning behind the one that gave something last, or the first would use up what all have in common.
    func due(of gates: [Gate], at now: Microseconds) -> [Gate] {
        let due = gates.filter { looks[$0.id].map { $0 <= now } ?? false }.sorted { $0.id < $1.id }
        return due.filter { $0.id > last } + due.filter { $0.id <= last }
    }

    /// Notes a look.
    ///
    /// - Parameters:
    ///   - gate: behind which it was.
    ///   - hasGiven: whether something was claimed.
    ///   - wait: how long until the next of what is due may go; nil if nothing is due.
    ///   - now: a steady time.
    mutating func looked(_ gate: Int32, gave hasGiven: Bool, wait: Microseconds?, at now: Microseconds) {
        if hasGiven { last = gate }
        looks[gate] = wait.map { now + min($0, Self.longest) }
    }

    /// Notes that there was no room for what may wait behind a gate.
    mutating func hadNoRoom(_ gate: Int32, at now: Microseconds) {
        looks[gate] = now + Self.roomDelay
    }

    /// Notes that less was used up than was charged.
    mutating func refunded(_ gate: Int32, at now: Microseconds) {
        looks[gate] = now
    }

    /// How long until the next look has something to do; nil if that is not known.
    func wait(at now: Microseconds) -> Microseconds? {
        let ask = !areUnknown ? nil : isAsked ? soonest : askedAt.map { $0 + Self.interval }
        return (looks.values.min().map { min($0, ask ?? $0) } ?? ask).map { max($0 - now, 0) }
    }

    /// Knows nothing of any gate: they changed.
    mutating func forget() {
        self = PacedTurns(last: last)
    }

    init(last: Int32 = 0) {
        self.last = last
    }
}
