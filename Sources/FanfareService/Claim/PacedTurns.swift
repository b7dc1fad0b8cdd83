internal import FanfareCore
internal import FanfareStages
internal import FanfareStore

/// When a claimer looks for what goes at a rate, and in which order.
///
/// A look locks rates. So none is made where nothing waits: of paces that no next look is known of it is asked first, of all at once
/// and not too often, since one-off pushes bring many looks a second.
///
/// What is urgent goes first, or a broadcast at an app's rate would hold up its one-offs; but the least urgent, which it may leave
/// nothing of the rate, at least once in twenty times. Within a lane they go round.
struct PacedTurns {
    /// How long what was asked is good for.
    private static let interval = Micros.second / 10
    /// How long one waits for room at the senders.
    private static let roomDelay = 50 * Micros.millisecond
    /// How long one waits at most: its rate may be another by then.
    private static let longest = Micros.second
    /// How often more urgent lanes may be given something before the last one has its turn.
    private static let patience = 19

    private var dueAt: [Pace: Microseconds] = [:]
    /// What gave something last, in each lane.
    private var last: [Lane: Pace] = [:]
    /// How often others have given something since the last lane did.
    private var passedBy = 0
    private var askedAt: Microseconds?
    private var isAsked = false
    /// When something is due for one that no next look is known of.
    private var soonest: Microseconds?
    private var areUnknown = false

    /// Begins a look.
    ///
    /// - Parameters:
    ///   - paces: those that there are now.
    ///   - now: a steady time.
    /// - Returns: those to ask what waits for.
    mutating func toAsk(of paces: some Collection<Pace>, at now: Microseconds) -> [Pace] {
        let there = Set(paces)
        dueAt = dueAt.filter { there.contains($0.key) }
        let unknown = there.filter { dueAt[$0] == nil }.sorted()
        areUnknown = !unknown.isEmpty
        isAsked = areUnknown && askedAt.map { now - $0 >= Self.interval } ?? true
        return isAsked ? unknown : []
    }

    /// Takes over what was asked: how long until something is due, of each that something waits for.
    mutating func asked(_ waits: [Pace: Microseconds], at now: Microseconds) {
        askedAt = now
        for (pace, wait) in waits where wait <= 0 { dueAt[pace] = now }
        soonest = waits.values.filter { $0 > 0 }.min().map { now + $0 }
    }

    /// Those whose turn it is, each lane's beginning behind the one that gave something last, or the first would use up what all have
    /// in common.
    func due(at now: Microseconds) -> [Pace] {
        let due = dueAt.filter { $0.value <= now }.keys.sorted()
        let lanes = Lane.allCases.map { lane in
            let here = due.filter { $0.lane == lane }
            guard let last = last[lane] else { return here }
            return here.filter { $0 > last } + here.filter { $0 <= last }
        }
        return (passedBy < Self.patience ? lanes : lanes.suffix(1) + lanes.dropLast()).flatMap(\.self)
    }

    /// Notes a look.
    ///
    /// - Parameters:
    ///   - pace: what for.
    ///   - hasGiven: whether something was claimed.
    ///   - wait: how long until the next of what is due may go; nil if nothing is due.
    ///   - now: a steady time.
    mutating func looked(_ pace: Pace, gave hasGiven: Bool, wait: Microseconds?, at now: Microseconds) {
        if hasGiven {
            last[pace.lane] = pace
            passedBy = pace.lane == Lane.allCases.last ? 0 : passedBy + 1
        }
        dueAt[pace] = wait.map { now + min($0, Self.longest) }
    }

    /// Notes that there was no room for what may wait.
    mutating func hadNoRoom(_ pace: Pace, at now: Microseconds) {
        dueAt[pace] = now + Self.roomDelay
    }

    /// Notes that less was used up than was charged.
    mutating func refunded(_ pace: Pace, at now: Microseconds) {
        dueAt[pace] = now
    }

    /// How long until the next look has something to do; nil if that is not known.
    func wait(at now: Microseconds) -> Microseconds? {
        let ask = !areUnknown ? nil : isAsked ? soonest : askedAt.map { $0 + Self.interval }
        return (dueAt.values.min().map { min($0, ask ?? $0) } ?? ask).map { max($0 - now, 0) }
    }

    /// Knows nothing of any: gates or rates changed.
    mutating func forget() {
        self = PacedTurns(last: last, passedBy: passedBy)
    }

    init() {}

    private init(last: [Lane: Pace], passedBy: Int) {
        (self.last, self.passedBy) = (last, passedBy)
    }
}
