/// One alternative of a condition: a device with all the positive and none of the negative topics.
public struct TopicClause: Hashable, Sendable {
    /// The limit of distinct topics in a condition.
    public static let topicLimit = 64
    /// The limit of clauses of a condition in normal form.
    public static let clauseLimit = 64

    /// Topics that the device must have, in order of appearance; empty if the clause only excludes.
    public let positive: [String]
    /// Topics that the device must not have, in order of appearance.
    public let negative: [String]

    /// Makes a clause.
    ///
    /// - Parameters:
    ///   - positive: topics that the device must have.
    ///   - negative: topics that it must not have.
    public init(positive: [String], negative: [String]) {
        self.positive = positive
        self.negative = negative
    }

    /// Returns whether a device belongs to the clause.
    ///
    /// - Parameter topics: the device's topics.
    /// - Returns: whether it has all positive and no negative topics.
    public func matches(_ topics: Set<String>) -> Bool {
        positive.allSatisfy(topics.contains) && !negative.contains(where: topics.contains)
    }
}

/// A topic condition, parsed and in disjunctive normal form.
///
/// Topic names may be templates. The condition is parsed first. The values are inserted into the tree afterwards, as
/// whole names, and checked, so that no data can widen an audience.
public struct TopicCondition: Sendable {
    /// The condition as written.
    public let source: String
    /// The distinct topic names, in order of appearance.
    public let names: [TextTemplate]
    private let expression: ConditionExpression
    private let clauses: [ClauseMask]

    /// Parses a condition.
    ///
    /// - Parameter source: the condition, in FCM's grammar.
    /// - Throws: `ConditionProblem` with the column: for errors in grammar or names, mixed operators, more than 64
    ///   topics or clauses, and conditions that no device can meet.
    public init(_ source: String) throws(ConditionProblem) {
        var parser = ConditionParser(source)
        expression = try parser.parse()
        names = parser.names
        self.source = source
        do {
            clauses = try NormalForm.expand(expression)
        } catch {
            throw ConditionProblem(
                column: 1,
                reason: "expands to more than \(TopicClause.clauseLimit) clauses",
                hint: "split the rule into several"
            )
        }
        guard !clauses.isEmpty else {
            throw ConditionProblem(column: 1, reason: "no device can ever meet it", hint: "remove the contradiction")
        }
    }

    /// Renders the condition in FCM's grammar, with the names of an event.
    ///
    /// - Parameter context: the event; unused if the condition ``isLiteral``.
    /// - Returns: the condition as written if it has no templates; else with parentheses around every group.
    /// - Throws: `RenderProblem` if a value is missing or is not a topic name.
    public func text(_ context: RenderContext) throws(RenderProblem) -> String {
        guard !isLiteral else { return source }
        let scope = TemplateScope(context: context, device: nil)
        var rendered: [String] = []
        for name in names { rendered.append(try TopicName.render(name, in: scope)) }
        return expression.text(rendered)
    }

    /// Whether no topic name is a template.
    public var isLiteral: Bool { names.allSatisfy { $0.literal != nil } }

    /// Returns the normal form with the names of an event.
    ///
    /// - Parameter context: the event; unused if the condition ``isLiteral``.
    /// - Returns: the clauses, at most 64; none if the names make the condition unsatisfiable.
    /// - Throws: `RenderProblem` if a value is missing or is not a topic name.
    public func clauses(_ context: RenderContext) throws(RenderProblem) -> [TopicClause] {
        let scope = TemplateScope(context: context, device: nil)
        var rendered: [String] = []
        for name in names { rendered.append(try TopicName.render(name, in: scope)) }
        return clauses(named: rendered)
    }

    /// Returns the condition with the names of an event, in a form that is equal for equal names.
    ///
    /// - Parameter context: the event.
    /// - Returns: the clauses as text.
    /// - Throws: `RenderProblem` as ``clauses(_:)``.
    func renderedText(_ context: RenderContext) throws(RenderProblem) -> String {
        let parts = try clauses(context).map { clause in
            let atoms = clause.positive.map { "'\($0)' in topics" } + clause.negative.map { "!('\($0)' in topics)" }
            return "(" + atoms.joined(separator: " && ") + ")"
        }
        return parts.joined(separator: " || ")
    }

    /// Replaces indices by names; equal names can make clauses contradictory or redundant.
    private func clauses(named rendered: [String]) -> [TopicClause] {
        var distinct: [String] = []
        let bits = rendered.map { name in
            if let index = distinct.firstIndex(of: name) { return UInt64(1) << UInt64(index) }
            distinct.append(name)
            return UInt64(1) << UInt64(distinct.count - 1)
        }
        func mapped(_ mask: UInt64) -> UInt64 {
            bits.indices.reduce(0) { mask >> UInt64($1) & 1 == 1 ? $0 | bits[$1] : $0 }
        }
        func selected(_ mask: UInt64) -> [String] {
            distinct.indices.filter { mask >> UInt64($0) & 1 == 1 }.map { distinct[$0] }
        }
        let masks = clauses.map { ClauseMask(positive: mapped($0.positive), negative: mapped($0.negative)) }
        return NormalForm.absorbed(masks).map {
            TopicClause(positive: selected($0.positive), negative: selected($0.negative))
        }
    }
}
