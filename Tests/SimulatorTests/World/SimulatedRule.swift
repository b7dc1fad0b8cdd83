import FanfareCore

@testable import FanfareProviders
@testable import FanfareService
@testable import FanfareStages

/// A rule of the simulated app: one for each promise that depends on the rule.
struct SimulatedRule {
    let id: Int32
    let event: String
    let isForEveryone: Bool
    let lane: Lane
    let ttl: Int64?
    let isAtMostOnce: Bool
    let loaded: LoadedRule

    private init(
        _ id: Int32,
        event: String,
        everyone: Bool = false,
        lane: Lane,
        ttl: Int64? = nil,
        atMostOnce: Bool = false
    ) {
        (self.id, self.event, isForEveryone, self.lane) = (id, event, everyone, lane)
        (self.ttl, isAtMostOnce) = (ttl, atMostOnce)
        let json = Self.json(id, event: event, everyone: everyone, lane: lane, ttl: ttl, atMostOnce: atMostOnce)
        guard let value = try? JSONValue(parsing: json), let compiled = try? CompiledRule(json: value) else {
            preconditionFailure("rule \(id) does not compile")
        }
        loaded = LoadedRule(id: id, ruleID: id, version: 1, compiled: compiled)
    }

    static let all = [
        SimulatedRule(1, event: "one", lane: .transactional),
        SimulatedRule(2, event: "one", lane: .normal, ttl: 8),
        SimulatedRule(3, event: "all", everyone: true, lane: .bulk, ttl: 60),
        SimulatedRule(4, event: "once", lane: .normal, atMostOnce: true),
    ]

    /// The rule as it would be stored.
    var json: String {
        Self.json(id, event: event, everyone: isForEveryone, lane: lane, ttl: ttl, atMostOnce: isAtMostOnce)
    }

    private static func json(
        _ id: Int32,
        event: String,
        everyone: Bool,
        lane: Lane,
        ttl: Int64?,
        atMostOnce: Bool
    ) -> String {
        let to = everyone ? #"{"everyone": true}"# : #"{"users": "$.u"}"#
        let ttl = ttl.map { #", "ttl": "\#($0)s""# } ?? ""
        let delivery = atMostOnce ? #", "delivery": "at_most_once""# : ""
        return """
            {"app": "shop", "name": "rule-\(id)", "event": "\(event)", "to": \(to), "lane": "\(lane.name)"\(ttl)\(delivery),
            "message": {"notification": {"title": "T"}}}
            """
    }

    /// The shorter of the event's and the rule's.
    func timeToLive(_ ofEvent: Microseconds?) -> Microseconds? {
        let ofRule = ttl.map { $0 * Micros.second }
        guard let ofEvent else { return ofRule }
        return min(ofEvent, ofRule ?? ofEvent)
    }
}
