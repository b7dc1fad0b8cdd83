/// A conjunction over at most 64 topics, one bit each.
struct ClauseMask: Hashable, Sendable {
    var positive: UInt64 = 0
    var negative: UInt64 = 0

    /// Whether a topic is both required and excluded.
    var isContradiction: Bool { positive & negative != 0 }

    /// Returns whether every device that satisfies the other clause satisfies this one.
    func subsumes(_ other: ClauseMask) -> Bool {
        positive & ~other.positive == 0 && negative & ~other.negative == 0
    }

    static func & (left: ClauseMask, right: ClauseMask) -> ClauseMask {
        ClauseMask(positive: left.positive | right.positive, negative: left.negative | right.negative)
    }
}

/// Converts conditions to disjunctive normal form with a limit, because each clause becomes a scan.
enum NormalForm {
    /// The error for more clauses than ``TopicClause/clauseLimit``.
    struct TooManyClauses: Error {}

    /// Expands a condition; drops contradictions and subsumed clauses in each step.
    ///
    /// - Parameter expression: the condition.
    /// - Returns: the clauses; none if the condition cannot hold.
    /// - Throws: `TooManyClauses`.
    static func expand(_ expression: ConditionExpression) throws(TooManyClauses) -> [ClauseMask] {
        try expand(expression, negated: false)
    }

    private static func expand(
        _ expression: ConditionExpression,
        negated: Bool
    ) throws(TooManyClauses) -> [ClauseMask] {
        switch (expression, negated) {
        case (.topic(let index), false): return [ClauseMask(positive: 1 << UInt64(index))]
        case (.topic(let index), true): return [ClauseMask(negative: 1 << UInt64(index))]
        case (.not(let inner), _): return try expand(inner, negated: !negated)
        case (.any(let parts), false), (.all(let parts), true):
            var clauses: [ClauseMask] = []
            for part in parts { clauses = try limited(clauses + expand(part, negated: negated)) }
            return clauses
        case (.all(let parts), false), (.any(let parts), true):
            var clauses = [ClauseMask()]
            for part in parts {
                let others = try expand(part, negated: negated)
                clauses = try limited(clauses.flatMap { clause in others.map { clause & $0 } })
            }
            return clauses
        }
    }

    private static func limited(_ clauses: [ClauseMask]) throws(TooManyClauses) -> [ClauseMask] {
        let kept = absorbed(clauses)
        guard kept.count <= TopicClause.clauseLimit else { throw TooManyClauses() }
        return kept
    }

    /// Drops contradictions, duplicates and subsumed clauses; keeps the order of the others.
    static func absorbed(_ clauses: [ClauseMask]) -> [ClauseMask] {
        var kept: [ClauseMask] = []
        for clause in clauses where !clause.isContradiction {
            if kept.contains(where: { $0.subsumes(clause) }) { continue }
            kept.removeAll { clause.subsumes($0) }
            kept.append(clause)
        }
        return kept
    }
}
