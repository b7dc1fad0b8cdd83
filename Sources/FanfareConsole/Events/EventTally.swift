internal import FanfareRecords
internal import FanfareStore
internal import PostgresClient

/// The outcomes of an event's pushes, each delivery once: a retried delivery counts only with its last attempt.
struct EventTally {
    /// The count of one outcome.
    struct End {
        let outcome: String
        let reason: String
        /// Whether it is a retry.
        let isAgain: Bool
        /// Whether it waits for the end of quiet hours or a snooze.
        let isHeld: Bool
        let advice: String?
        var deliveries: Int64
    }

    /// A target that pushes of the event went to.
    struct Target: Hashable {
        let app: String
        let provider: String
        let environment: String
    }

    /// The deliveries sent to one provider or pending there.
    struct Leg {
        let provider: String
        let isAgain: Bool
        var rows: [EventOutcomesRow] = []
    }

    /// The outcomes, the most frequent first.
    let ends: [End]
    /// The outcomes by app, provider and environment.
    let targets: [(target: Target, ends: [String: Int64])]
    /// The number of deliveries by app and rule, such as `shop/order-shipped`.
    let rules: [String: Int64]
    /// For each provider, the first attempts and the retries.
    let legs: [Leg]

    /// Sums the rows.
    ///
    /// - Parameter rows: the counts by rule, target, attempt and outcome, from one or several parts.
    init(_ rows: [EventOutcomesRow]) {
        var ends: [[String]: End] = [:]
        var targets: [Target: [String: Int64]] = [:]
        var rules: [String: Int64] = [:]
        var legs: [[String]: Leg] = [:]
        let held = Self.held(rows)
        for row in rows {
            let isAgain = row.attempt > 1
            legs[[row.provider, "\(isAgain)"], default: Leg(provider: row.provider, isAgain: isAgain)].rows.append(row)
            guard row.outcome != "retrying" else { continue }
            let waits = !PushText.isFinal(row.outcome) && isAgain
            let isHeld = waits && held.contains([row.app, row.rule, row.provider, row.environment])
            let new = End(
                outcome: row.outcome,
                reason: row.reason,
                isAgain: waits,
                isHeld: isHeld,
                advice: row.advice,
                deliveries: 0
            )
            ends[[row.outcome, row.reason, "\(waits)", "\(isHeld)"], default: new].deliveries += row.deliveries
            let target = Target(app: row.app, provider: row.provider, environment: row.environment)
            targets[target, default: [:]][row.outcome, default: 0] += row.deliveries
            rules["\(row.app)/\(row.rule)", default: 0] += row.deliveries
        }
        self.ends = ends.values.sorted { ($0.deliveries, $1.reason) > ($1.deliveries, $0.reason) }
        self.targets = targets.map { (target: $0.key, ends: $0.value) }.sorted {
            ($0.target.app, $0.target.provider, $0.target.environment)
                < ($1.target.app, $1.target.provider, $1.target.environment)
        }
        self.rules = rules
        self.legs = legs.values.sorted { ($0.isAgain ? 1 : 0, $0.provider) < ($1.isAgain ? 1 : 0, $1.provider) }
    }

    /// The number of deliveries.
    var deliveries: Int64 { ends.reduce(0) { $0 + $1.deliveries } }
    /// The deliveries that a provider accepted.
    var accepted: Int64 { count { $0 == "accepted" } }
    /// The deliveries without a final outcome.
    var open: Int64 { count { !PushText.isFinal($0) } }
    /// The suppressed deliveries.
    var kept: Int64 { count(PushText.isKept) }
    /// All other deliveries: those that failed.
    var failed: Int64 { deliveries - accepted - open - kept }

    /// The time of the first plan; nil for none.
    var plannedAt: Int64? { legs.flatMap(\.rows).map(\.firstAt.microseconds).min() }
    /// The time of the last recorded answer; nil for none.
    var answeredAt: Int64? { legs.flatMap(\.rows).compactMap { $0.lastAt?.microseconds }.max() }

    /// Returns the rules and targets whose pushes were postponed only for quiet hours or a snooze.
    private static func held(_ rows: [EventOutcomesRow]) -> Set<[String]> {
        let retried = rows.filter { $0.outcome == "retrying" }
        let places = Dictionary(grouping: retried) { [$0.app, $0.rule, $0.provider, $0.environment] }
        return Set(
            places.filter { $0.value.allSatisfy { PushText.badge($0.outcome, $0.reason).words == "held" } }.keys
        )
    }

    private func count(_ isMeant: (String) -> Bool) -> Int64 {
        ends.reduce(0) { isMeant($1.outcome) ? $0 + $1.deliveries : $0 }
    }
}
