internal import FanfareCore
internal import FanfareStages
internal import FanfareStore

/// The times and the order in which a claimer claims batches under a rate.
///
/// A claim locks rates, so none is made for a pace without waiting batches. If the next claim time of a pace is
/// unknown, one query reads it for all such paces. The query is limited in frequency, since one-off pushes cause many
/// turns a second.
///
/// Urgent lanes come first, so that a broadcast under an app's rate does not delay one-offs. The least urgent lane, for
/// which they may leave nothing of the rate, comes first after every 19 claims of the others. Within a lane the paces
/// take turns.
struct PacedTurns {
    /// How long the result of the query is valid.
    private static let interval = Micros.second / 10
    /// The delay of a pace when the senders have no room.
    private static let roomDelay = 50 * Micros.millisecond
    /// The longest delay of a pace, because its rate may have changed by then.
    private static let longest = Micros.second
    /// The number of successful claims in more urgent lanes after which the last lane comes first.
    private static let patience = 19

    private var dueAt: [Pace: Microseconds] = [:]
    /// The pace of each lane that last claimed something.
    private var last: [Lane: Pace] = [:]
    /// The number of successful claims since the last lane's.
    private var passedBy = 0
    private var askedAt: Microseconds?
    private var isAsked = false
    /// The earliest due time among the paces whose next claim time is unknown.
    private var soonest: Microseconds?
    private var areUnknown = false

    /// Starts a turn.
    ///
    /// - Parameters:
    ///   - paces: the current paces.
    ///   - now: a steady time.
    /// - Returns: the paces to query for waiting batches.
    mutating func toAsk(of paces: some Collection<Pace>, at now: Microseconds) -> [Pace] {
        let there = Set(paces)
        dueAt = dueAt.filter { there.contains($0.key) }
        let unknown = there.filter { dueAt[$0] == nil }.sorted()
        areUnknown = !unknown.isEmpty
        isAsked = areUnknown && askedAt.map { now - $0 >= Self.interval } ?? true
        return isAsked ? unknown : []
    }

    /// Applies the result of the query: the time until a batch is due, for each pace with waiting batches.
    mutating func asked(_ waits: [Pace: Microseconds], at now: Microseconds) {
        askedAt = now
        for (pace, wait) in waits where wait <= 0 { dueAt[pace] = now }
        soonest = waits.values.filter { $0 > 0 }.min().map { now + $0 }
    }

    /// Returns the paces whose turn it is.
    ///
    /// Each lane starts after the pace that last claimed something; otherwise the first pace would use up a rate that
    /// several share.
    func due(at now: Microseconds) -> [Pace] {
        let due = dueAt.filter { $0.value <= now }.keys.sorted()
        let lanes = Lane.allCases.map { lane in
            let here = due.filter { $0.lane == lane }
            guard let last = last[lane] else { return here }
            return here.filter { $0 > last } + here.filter { $0 <= last }
        }
        return (passedBy < Self.patience ? lanes : lanes.suffix(1) + lanes.dropLast()).flatMap(\.self)
    }

    /// Records a claim.
    ///
    /// - Parameters:
    ///   - pace: the pace that was claimed for.
    ///   - hasGiven: whether anything was claimed.
    ///   - wait: the time until the next due batch may be claimed; nil if none is due.
    ///   - now: a steady time.
    mutating func looked(_ pace: Pace, gave hasGiven: Bool, wait: Microseconds?, at now: Microseconds) {
        if hasGiven {
            last[pace.lane] = pace
            passedBy = pace.lane == Lane.allCases.last ? 0 : passedBy + 1
        }
        dueAt[pace] = wait.map { now + min($0, Self.longest) }
    }

    /// Records that the senders had no room for a pace.
    mutating func hadNoRoom(_ pace: Pace, at now: Microseconds) {
        dueAt[pace] = now + Self.roomDelay
    }

    /// Records that a part of the charge was refunded, so that the pace may claim again.
    mutating func refunded(_ pace: Pace, at now: Microseconds) {
        dueAt[pace] = now
    }

    /// Returns the time until the next claim or query; nil if it is unknown.
    func wait(at now: Microseconds) -> Microseconds? {
        let ask = !areUnknown ? nil : isAsked ? soonest : askedAt.map { $0 + Self.interval }
        return (dueAt.values.min().map { min($0, ask ?? $0) } ?? ask).map { max($0 - now, 0) }
    }

    /// Forgets all times, because gates or rates changed.
    mutating func forget() {
        self = PacedTurns(last: last, passedBy: passedBy)
    }

    init() {}

    private init(last: [Lane: Pace], passedBy: Int) {
        (self.last, self.passedBy) = (last, passedBy)
    }
}
