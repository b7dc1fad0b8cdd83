internal import FanfareCore
internal import FanfareStore

/// A planner's scan of the outbox, for all events or a part of them.
struct OutboxTrack {
    /// The filter on events; nil for all events.
    var choice: OutboxChoice?
    var floor = OutboxFloor()
    var limit: RoundLimit
    /// The most events that a round with a filter examines.
    let reach: Int
    /// The number of rules that an event can have.
    let rules: Int64
    /// Whether the last round took as many events as its limit allows, so that more may be waiting.
    private(set) var isFull = false

    /// Whether a pass has ended, that is, every event that was visible has been examined.
    var isAtEnd: Bool { floor.snapshot == nil && floor != OutboxFloor() }

    init(_ choice: OutboxChoice?, limit: RoundLimit, reach: Int, rules: Int64 = EventTypeRules.many) {
        self.choice = choice
        self.limit = limit
        self.reach = reach
        self.rules = rules
    }

    /// Records a committed round.
    ///
    /// - Parameters:
    ///   - round: the result of the round.
    ///   - end: the place up to which it scanned at most.
    ///   - cost: the duration of the round.
    mutating func advance(after round: PlanRoundSummary, end: OutboxPlace?, cost: Microseconds) {
        isFull = round.taken >= limit.count
        floor.advance(after: round, limit: limit.count, end: end)
        limit.planned(round.taken, in: cost)
    }
}

/// The tracks by which a planner scans the outbox, so that no event waits behind many events of other kinds.
///
/// - **main**: all events that are on no track of their own, in order.
/// - **urgent**: the events among them for the transactional lane. While the main track has a backlog, the urgent one
///   runs ahead of it; what it misses, the main track plans.
/// - **heavy**: event types with many rules, a few events at a time, the types in turn.
/// - **suspects**: events with suspiciously large payloads, moved to the quarantine.
///
/// Events that wait for a rule to be checked are on no track. When the assignment of events changes, all tracks start
/// over. Otherwise an event would be lost if its old track had not reached it and its new track had passed it.
struct OutboxTracks {
    /// The most events in one round.
    static let roundSize = 1000
    private static let roundCost = 100 * Micros.millisecond
    private static let heavyCost = 50 * Micros.millisecond
    /// The initial size of a heavy round, in rule conditions to evaluate: about 20 ms.
    private static let heavyWork: Int64 = 20_000

    /// The name of a track.
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

    /// Creates the tracks, at the start of the outbox.
    ///
    /// - Parameters:
    ///   - rules: the rule counts of event types.
    ///   - hasUnjudged: whether events wait for rules to be checked.
    ///   - sizes: the payload size from which events are suspected, by type.
    ///   - before: the previous tracks, whose round limits are kept.
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

    /// Whether every visible event has been examined; the urgent track does not count, because the main one covers it.
    var areAtEnd: Bool { main.isAtEnd && heavy.allSatisfy(\.isAtEnd) && suspects?.isAtEnd ?? true }

    /// Whether every event is on the main track, and perhaps on the urgent one too.
    var isMainOnly: Bool { main.choice == nil }

    /// Whether at least one track, other than the urgent one, has more events waiting.
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
