/// One alternative of a condition: a device with all the positive and none of the negative topics.
public struct TopicClause: Hashable, Sendable {
    /// The most distinct topics of a condition.
    public static let topicLimit = 64
    /// The most clauses of a condition in normal form.
    public static let clauseLimit = 64

    /// Topics the device must have, in order of appearance; empty if the clause only excludes.
    public let positive: [String]
    /// Topics it must not have, in order of appearance.
    public let negative: [String]

    /// Makes a clause.
    ///
    /// - Parameters:
    ///   - positive: topics the device must have.
    ///   - negative: topics it must not have.
    public init(positive: [String], negative: [String]) {
        self.positive = positive
        self.negative = negative
    }

    /// Decides for one device.
    ///
    /// - Parameter topics: what the device is subscribed to.
    /// - Returns: whether the device belongs to the clause.
    public func matches(_ topics: Set<String>) -> Bool {
        positive.allSatisfy(topics.contains) && !negative.contains(where: topics.contains)
    }
}

/// A topic condition, parsed and brought into disjunctive normal form.
///
/// Topic names may be templates. The condition is parsed first; values are put into the tree afterwards, as whole
/// names, and checked, so that no data can widen an audience.
public struct TopicCondition: Sendable {
    /// The condition as it was written.
    public let source: String
    /// The distinct topic names, in order of appearance.
    public let names: [TextTemplate]
    private let expression: ConditionExpression
    private let clauses: [ClauseMask]

    /// Parses a condition.
    ///
    /// - Parameter source: the condition, in FCM's grammar.
    /// - Throws: `ConditionProblem` with the column: grammar, names, mixed operators, more than 64 topics or clauses, a
    ///   condition that no device can meet.
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

    /// The condition as FCM reads it, with the names an event gives.
    ///
    /// - Parameter context: the event; unused if the condition ``isLiteral``.
    /// - Returns: as it was written where nothing is a template; else the same with parentheses around every group.
    /// - Throws: `RenderProblem` if a value is missing or gives no topic name.
    public func text(_ context: RenderContext) throws(RenderProblem) -> String {
        guard !isLiteral else { return source }
        let scope = TemplateScope(context: context, device: nil)
        var rendered: [String] = []
        for name in names { rendered.append(try TopicName.render(name, in: scope)) }
        return expression.text(rendered)
    }

    /// Whether no topic name is a template.
    public var isLiteral: Bool { names.allSatisfy { $0.literal != nil } }

    /// The normal form with the names an event gives.
    ///
    /// - Parameter context: the event; unused if the condition ``isLiteral``.
    /// - Returns: the clauses, at most 64; none if the names make the condition impossible.
    /// - Throws: `RenderProblem` if a value is missing or gives no topic name.
    public func clauses(_ context: RenderContext) throws(RenderProblem) -> [TopicClause] {
        let scope = TemplateScope(context: context, device: nil)
        var rendered: [String] = []
        for name in names { rendered.append(try TopicName.render(name, in: scope)) }
        return clauses(named: rendered)
    }

    /// The condition's text with the names an event gives, in a form that is equal for equal names.
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

    /// Puts names in place of indices; names that coincide can make clauses contradictory or superfluous.
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
