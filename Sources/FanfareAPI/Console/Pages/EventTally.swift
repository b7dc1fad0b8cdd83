internal import FanfareStore
internal import PostgresClient

/// How an event's pushes ended, each delivery once: what is tried again is counted where it waits, or ended.
struct EventTally {
    /// How often one outcome came.
    struct End {
        let outcome: String
        let reason: String
        /// Whether it was tried before.
        let isAgain: Bool
        /// Whether it waits for the end of a night or a snooze.
        let isHeld: Bool
        let advice: String?
        var deliveries: Int64
    }

    /// Where pushes of it went.
    struct Target: Hashable {
        let app: String
        let provider: String
        let environment: String
    }

    /// What was sent there, or waits.
    struct Leg {
        let provider: String
        let isAgain: Bool
        var rows: [EventOutcomes.Row] = []
    }

    /// The most frequent first.
    let ends: [End]
    /// By app, provider and environment, each with its ends.
    let targets: [(target: Target, ends: [String: Int64])]
    /// By app and rule, as in `shop/order-shipped`.
    let rules: [String: Int64]
    /// Each provider's first attempt, and its further ones.
    let legs: [Leg]

    /// Counts.
    ///
    /// - Parameter rows: by rule, target, attempt and outcome, of several parts.
    init(_ rows: [EventOutcomes.Row]) {
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

    /// All deliveries.
    var deliveries: Int64 { ends.reduce(0) { $0 + $1.deliveries } }
    /// Those that a provider took.
    var accepted: Int64 { count { $0 == "accepted" } }
    /// Those of which something is still to come.
    var open: Int64 { count { !PushText.isFinal($0) } }
    /// Those whom Fanfare kept from it.
    var kept: Int64 { count(PushText.isKept) }
    /// All others.
    var failed: Int64 { deliveries - accepted - open - kept }

    /// When the first of it was planned; nil for none.
    var plannedAt: Int64? { legs.flatMap(\.rows).map(\.firstAt.microseconds).min() }
    /// When the last answer was recorded; nil for none.
    var answeredAt: Int64? { legs.flatMap(\.rows).compactMap { $0.lastAt?.microseconds }.max() }

    /// The rules and targets whose pushes were put off for a night or a snooze and for nothing else.
    private static func held(_ rows: [EventOutcomes.Row]) -> Set<[String]> {
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
