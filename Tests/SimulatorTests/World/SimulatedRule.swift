import FanfareCore

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// A rule of the simulated app: one for each promise that depends on the rule.
struct SimulatedRule {
    let id: Int32
    let event: String
    let isForEveryone: Bool
    let lane: Lane
    let ttl: Int64?
    /// The rule as it would be stored.
    let json: String
    let loaded: LoadedRule

    private init(
        _ id: Int32,
        event: String,
        everyone: Bool = false,
        lane: Lane,
        ttl: Int64? = nil,
        more: String = ""
    ) {
        (self.id, self.event, isForEveryone, self.lane, self.ttl) = (id, event, everyone, lane, ttl)
        let to = everyone ? #"{"everyone": true}"# : #"{"users": "$.u"}"#
        let ttl = ttl.map { #", "ttl": "\#($0)s""# } ?? ""
        json = """
            {"app": "shop", "name": "rule-\(id)", "event": "\(event)", "to": \(to), "lane": "\(lane.name)"\(ttl)\(more),
            "message": {"notification": {"title": "T"}}}
            """
        guard let value = try? JSONValue(parsing: json), let compiled = try? CompiledRule(json: value) else {
            preconditionFailure("rule \(id) does not compile")
        }
        loaded = LoadedRule(id: id, ruleID: id, version: 1, compiled: compiled)
    }

    static let all = [
        SimulatedRule(1, event: "one", lane: .transactional),
        SimulatedRule(2, event: "one", lane: .normal, ttl: 8),
        SimulatedRule(3, event: "all", everyone: true, lane: .bulk, ttl: 60),
        SimulatedRule(4, event: "once", lane: .normal, more: #", "delivery": "at_most_once""#),
        SimulatedRule(5, event: "note", lane: .normal),
        SimulatedRule(6, event: "note", lane: .transactional, more: night),
        SimulatedRule(7, event: "capped note", lane: .normal, more: capped),
        SimulatedRule(8, event: "campaign", everyone: true, lane: .bulk, ttl: 45),
        SimulatedRule(9, event: "capped campaign", everyone: true, lane: .bulk, more: capped),
        SimulatedRule(10, event: Rows.DigestDefinition.digest, lane: .normal),
    ]

    /// The rule's own quiet hours.
    private static let night = #", "quiet_hours": {"from": "23:30", "until": "00:01"}"#
    private static let capped = #", "caps": ["few", "rare"]"#

    /// Returns the rule of a number.
    static func numbered(_ id: Int32) -> SimulatedRule? { all.indices.contains(Int(id) - 1) ? all[Int(id) - 1] : nil }

    var isAtMostOnce: Bool { loaded.compiled.definition.delivery == .atMostOnce }

    /// Returns the shorter of the event's and the rule's time to live.
    func timeToLive(_ ofEvent: Microseconds?) -> Microseconds? {
        let ofRule = ttl.map { $0 * Micros.second }
        guard let ofEvent else { return ofRule }
        return min(ofEvent, ofRule ?? ofEvent)
    }
}
