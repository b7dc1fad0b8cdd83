package import PostgresClient

/// What a planner must know about event types before it takes events: the types with so many rules that a round can
/// take only few of their events, and the types with a rule in the transactional lane.
///
/// Only speed depends on it, so it may be a second old.
package struct EventTypeRules: Equatable {
    /// The number of rules above which an event is not planned together with those of other types.
    package static let many: Int64 = 50
    /// How many types with many rules are read separately; the rest are read together, since each query has a cost.
    private static let single = 8

    /// Types that take turns with all others, and the most rules that an event of them has.
    package struct Heavy: Equatable {
        package let types: [String]
        package let rules: Int64
    }

    package private(set) var heavy: [Heavy] = []
    package private(set) var urgent: [String] = []

    package init(_ rows: [EventTypeRuleCount] = []) {
        let many = rows.filter { $0.rules > Self.many }.sorted { ($0.rules, $1.type) > ($1.rules, $0.type) }
        heavy = many.prefix(Self.single).map { Heavy(types: [$0.type], rules: $0.rules) }
        let rest = many.dropFirst(Self.single)
        if let most = rest.first { heavy.append(Heavy(types: rest.map(\.type), rules: most.rules)) }
        urgent = rows.filter { $0.rules <= Self.many && $0.isUrgent }.map(\.type).sorted()
    }
}

/// The rules in force for one event type.
package struct EventTypeRuleCount: Equatable {
    package let type: String
    /// The rules that an event is compared with: those without an equation, and the most that share one.
    package let rules: Int64
    /// Whether one of the rules is in the transactional lane.
    package let isUrgent: Bool
}

extension SQL {
    /// Reads the event types with many rules, or with a rule in the transactional lane.
    package static let eventTypeRuleCounts = Statement<EventTypeRuleCount>(
        "event_type_rule_counts",
        """
        SELECT event_type, rules, is_urgent FROM (
            SELECT event_type, coalesce(sum(rules) FILTER (WHERE when_key = ''), 0)::bigint
                    + coalesce(max(rules) FILTER (WHERE when_key <> ''), 0) AS rules, bool_or(is_urgent) AS is_urgent
            FROM (
                SELECT event_type, when_key, count(*) AS rules, min(lane) = 0 AS is_urgent FROM fanfare.rule_versions
                WHERE state = 'active' AND retired_at IS NULL AND enabled
                GROUP BY event_type, when_key
            ) AS k
            GROUP BY event_type
        ) AS t
        WHERE rules > \(EventTypeRules.many) OR is_urgent
        """,
        row: EventTypeRuleCount.init
    )
}
