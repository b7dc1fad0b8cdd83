internal import FanfareCore
internal import FanfareStore

/// A planner's way through the outbox, for some of its events or all.
struct OutboxTrack {
    /// For which; nil for all.
    var choice: OutboxChoice?
    var floor = OutboxFloor()
    var limit: RoundLimit
    /// How many events a round looks at, at most, where it has a choice.
    let reach: Int
    /// How many rules an event may have.
    let rules: Int64
    /// Whether the last round took as many as it may: there is more.
    private(set) var isFull = false

    /// Whether a pass has ended, and so whatever there was has been looked at.
    var isAtEnd: Bool { floor.snapshot == nil && floor != OutboxFloor() }

    init(_ choice: OutboxChoice?, limit: RoundLimit, reach: Int, rules: Int64 = EventTypeRules.many) {
        self.choice = choice
        self.limit = limit
        self.reach = reach
        self.rules = rules
    }

    /// Notes a committed round.
    ///
    /// - Parameters:
    ///   - round: what it did.
    ///   - end: how far it looked at most.
    ///   - cost: how long it took.
    mutating func advance(after round: PlanRoundSummary, end: OutboxPlace?, cost: Microseconds) {
        isFull = round.taken >= limit.count
        floor.advance(after: round, limit: limit.count, end: end)
        limit.planned(round.taken, in: cost)
    }
}

/// The ways that a planner goes through the outbox, so that no event waits for the many before it that are of no concern to it.
///
/// - **main**: what comes next, of all events that are on no way of their own.
/// - **urgent**: those among them for the transactional lane. While the main way is behind it runs ahead; what it misses, the
///   main way meets.
/// - **heavy**: types with many rules, a few events at a time, each type in its turn.
/// - **suspects**: events that may be bombs, moved to the quarantine.
///
/// Events that wait for the judgement of a rule are on none. Which events are on which may change: then all begin anew, or
/// one would be lost that the way it was on had not come to, and the way it is on now has passed.
struct OutboxTracks {
    /// The most events in one round.
    static let roundSize = 1000
    private static let roundCost = 100 * Micros.millisecond
    private static let heavyCost = 50 * Micros.millisecond
    /// What a heavy round begins with, in conditions to look at: 20 ms.
    private static let heavyWork: Int64 = 20_000

    /// One of the ways.
    enum Way: Equatable {
        case main
        case urgent
        case heavy(Int)
        case suspects
    }

    private(set) var main: OutboxTrack
    private(set) var urgent: OutboxTrack?
    private(set) var heavy: [OutboxTrack]
    private(set) var suspects: OutboxTrack?

    /// Makes ways from the beginning of the outbox.
    ///
    /// - Parameters:
    ///   - rules: what is known of event types.
    ///   - hasUnjudged: whether events wait for rules.
    ///   - sizes: from which size on payloads are suspected, by type.
    ///   - before: what went before, whose limits still hold.
    init(
        _ rules: EventTypeRules = EventTypeRules(),
        hasUnjudged: Bool = false,
        suspects sizes: [String: Int32] = [:],
        before: OutboxTracks? = nil
    ) {
        let apart = rules.heavy.flatMap(\.types)
        let others = OutboxChoice(except: apart, suspects: sizes)
        let isPlain = apart.isEmpty && sizes.isEmpty && !hasUnjudged
        let limit = RoundLimit(Self.roundSize, most: Self.roundSize, target: Self.roundCost)
        main = OutboxTrack(isPlain ? nil : others, limit: before?.main.limit ?? limit, reach: 10 * Self.roundSize)
        urgent = nil
        if !rules.urgent.isEmpty {
            var choice = others
            choice.only = rules.urgent
            urgent = OutboxTrack(choice, limit: before?.urgent?.limit ?? limit, reach: 50 * Self.roundSize)
        }
        heavy = rules.heavy.map { heavy in
            let choice = OutboxChoice(only: heavy.types, suspects: sizes)
            let few = Int(clamping: max(1, Self.heavyWork / heavy.rules))
            let limit = RoundLimit(few, most: Self.roundSize, target: Self.heavyCost)
            return OutboxTrack(choice, limit: limit, reach: 50 * Self.roundSize, rules: heavy.rules)
        }
        suspects = nil
        if !sizes.isEmpty {
            let choice = OutboxChoice(suspects: sizes, isForSuspects: true)
            suspects = OutboxTrack(choice, limit: limit, reach: 10 * Self.roundSize)
        }
    }

    /// Whether all that was there has been looked at, but for what the urgent way would have found first.
    var areAtEnd: Bool { main.isAtEnd && heavy.allSatisfy(\.isAtEnd) && suspects?.isAtEnd ?? true }

    /// Whether there is more on one of them already.
    var isFull: Bool { main.isFull || heavy.contains { $0.isFull } || suspects?.isFull ?? false }

    subscript(way: Way) -> OutboxTrack {
        get {
            switch way {
            case .main: main
            case .urgent: urgent ?? main
            case .heavy(let index): heavy[index]
            case .suspects: suspects ?? main
            }
        }
        set {
            switch way {
            case .main: main = newValue
            case .urgent: urgent = newValue
            case .heavy(let index): heavy[index] = newValue
            case .suspects: suspects = newValue
            }
        }
    }
}
