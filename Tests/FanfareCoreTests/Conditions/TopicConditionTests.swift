import FanfareCore
import Testing

struct TopicConditionTests {
    @Test(
        arguments: [
            ("'a' in topics", "a"), ("!('a' in topics)", "!a"), ("'a' in topics && 'b' in topics", "a b"),
            ("'a' in topics || 'b' in topics", "a | b"),
            ("'dogs' in topics || ('cats' in topics && 'pizza' in topics)", "dogs | cats pizza"),
            ("'a' in topics && ('b' in topics || 'c' in topics)", "a b | a c"),
            ("!('a' in topics && 'b' in topics)", "!a | !b"), ("!('a' in topics || 'b' in topics)", "!a !b"),
            ("!!'a' in topics", "a"), ("'a' in topics && !'b' in topics", "a !b"),
            ("'a' in topics || 'a' in topics", "a"), ("'a' in topics || ('a' in topics && 'b' in topics)", "a"),
            ("('a' in topics && !('a' in topics)) || 'b' in topics", "b"),
            ("  (('a'  in\ttopics))  ", "a"), ("'a-_.~%9Z' in topics", "a-_.~%9Z"),
        ]
    )
    func normalForm(source: String, expected: String) throws {
        let condition = try TopicCondition(source)
        let clauses = try condition.clauses(event())
        let text = clauses.map { ($0.positive + $0.negative.map { "!" + $0 }).joined(separator: " ") }
        #expect(text.joined(separator: " | ") == expected)
    }

    @Test(
        arguments: [
            ("", 1, "the condition ends too early"), ("'a' in topics &&", 17, "the condition ends too early"),
            ("a in topics", 1, "unexpected 'a'"), ("\"a\" in topics", 1, "a double quote"),
            ("'a' in topic", 8, "expected 'topics' after the topic"), ("'a'", 4, "expected 'in' after the topic"),
            ("'a in topics", 1, "the quote is not closed"), ("'a' in topics & 'b' in topics", 15, "unexpected '&'"),
            ("('a' in topics", 15, "the parenthesis of column 1 is not closed"),
            ("'a' in topics)", 14, "unexpected ')'"),
            ("'a' in topics 'b' in topics", 15, "unexpected '''"), ("'' in topics", 1, "'' is not a topic name"),
            ("'a b' in topics", 1, "'a b' is not a topic name"),
            ("'a b{{x}}' in topics", 1, "'a b{{x}}' is not a topic name"),
            ("'{{>x}}' in topics", 2, "{{>x}} is a partial"),
            ("'{{device.id}}' in topics", 1, "a topic cannot depend on a device"),
            ("'a' in topics && !('a' in topics)", 1, "no device can ever meet it"),
        ]
    )
    func refuses(source: String, column: Int, reason: String) {
        let problem = #expect(throws: ConditionProblem.self) { try TopicCondition(source) }
        #expect(problem?.column == column)
        #expect(problem?.reason == reason)
        #expect(problem?.hint.isEmpty == false)
    }

    @Test func refusesMixedOperatorsWithBothReadings() {
        let problem = #expect(throws: ConditionProblem.self) {
            try TopicCondition("'a' in topics || 'b' in topics && 'c' in topics")
        }
        #expect(problem?.column == 32)
        #expect(problem?.reason == "mixes && and || without parentheses")
        let first = "'a' in topics || ('b' in topics && 'c' in topics)"
        let second = "('a' in topics || 'b' in topics) && 'c' in topics"
        #expect(problem?.hint == "write \(first) or \(second), which is how FCM reads it")
    }

    @Test(
        arguments: [
            ("'a' in topics && 'b' in topics || 'c' in topics", "('a' in topics && 'b' in topics) || 'c' in topics"),
            (
                "'a' in topics && 'b' in topics && 'c' in topics || 'd' in topics || 'e' in topics",
                "('a' in topics && 'b' in topics && 'c' in topics) || 'd' in topics || 'e' in topics"
            ),
        ]
    ) func aReadingThatBothAgreeOnIsShownOnce(source: String, reading: String) throws {
        let problem = try #require(throws: ConditionProblem.self) { try TopicCondition(source) }
        #expect(problem.hint == "write \(reading), which is how FCM reads it")
        _ = try TopicCondition(reading)
    }

    @Test func bothReadingsParse() throws {
        let source = "'a' in topics && 'b' in topics || !('c' in topics) && 'd' in topics"
        let problem = try #require(throws: ConditionProblem.self) { try TopicCondition(source) }
        let readings = problem.hint.dropFirst("write ".count).split(separator: ", which").first ?? ""
        for reading in String(readings).components(separatedByText: " or ") { _ = try TopicCondition(reading) }
    }

    @Test func limits() throws {
        let atoms = (0..<65).map { "'t\($0)' in topics" }
        #expect(try TopicCondition(atoms.prefix(64).joined(separator: " || ")).clauses(event()).count == 64)
        let topics = #expect(throws: ConditionProblem.self) { try TopicCondition(atoms.joined(separator: " || ")) }
        #expect(topics?.reason == "more than 64 topics")
        let pairs = (0..<7).map { "('a\($0)' in topics || 'b\($0)' in topics)" }
        #expect(try TopicCondition(pairs.prefix(6).joined(separator: " && ")).clauses(event()).count == 64)
        let clauses = #expect(throws: ConditionProblem.self) { try TopicCondition(pairs.joined(separator: " && ")) }
        #expect(clauses?.reason == "expands to more than 64 clauses")
        let deep = String(repeating: "(", count: 40) + atoms[0] + String(repeating: ")", count: 40)
        let levels = #expect(throws: ConditionProblem.self) { try TopicCondition(deep) }
        #expect(levels?.reason == "more than 32 levels of parentheses")
        let bangs = #expect(throws: ConditionProblem.self) {
            try TopicCondition(String(repeating: "!", count: 99) + atoms[0])
        }
        #expect(bangs?.reason == "more than 32 levels")
    }

    @Test(arguments: 0..<300 as Range<UInt64>)
    func normalFormDecidesAsTheTreeDoes(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let tree = RandomCondition.make(levels: 3, using: &generator)
        let condition: TopicCondition
        do {
            condition = try TopicCondition(tree.text)
        } catch {
            #expect(error.reason == "no device can ever meet it")
            #expect((0..<64).allSatisfy { !tree.holds($0) })
            return
        }
        let clauses = try condition.clauses(event())
        for topics in 0..<64 {
            let names = Set((0..<6).filter { topics >> $0 & 1 == 1 }.map { "t\($0)" })
            #expect(clauses.contains { $0.matches(names) } == tree.holds(topics))
        }
        for (index, clause) in clauses.enumerated() {
            #expect(Set(clause.positive).isDisjoint(with: clause.negative))
            for other in clauses[..<index] + clauses[(index + 1)...] {
                let subsumed =
                    Set(other.positive).isSubset(of: clause.positive)
                    && Set(other.negative).isSubset(of: clause.negative)
                #expect(!subsumed)
            }
        }
    }

    @Test func templatesBecomeWholeNames() throws {
        let condition = try TopicCondition("'store-{{store_id}}' in topics && !('muted' in topics)")
        #expect(!condition.isLiteral)
        let clauses = try condition.clauses(event(["store_id": 7]))
        #expect(clauses == [TopicClause(positive: ["store-7"], negative: ["muted"])])
    }

    @Test(arguments: ["x' in topics || 'everyone", "a b", "", "ñ", "x')", "a\u{0}b"])
    func dataCannotWidenAnAudience(value: String) throws {
        let condition = try TopicCondition("'{{store_id}}' in topics")
        let problem = #expect(throws: RenderProblem.self) { try condition.clauses(event(["store_id": .string(value)])) }
        #expect(problem == .topicName(template: "{{store_id}}"))
    }

    @Test func namesThatCoincide() throws {
        let condition = try TopicCondition("('{{a}}' in topics && !('{{b}}' in topics)) || '{{c}}' in topics")
        #expect(
            try condition.clauses(event(["a": "x", "b": "x", "c": "y"])) == [TopicClause(positive: ["y"], negative: [])]
        )
        #expect(
            try condition.clauses(event(["a": "x", "b": "z", "c": "x"])) == [TopicClause(positive: ["x"], negative: [])]
        )
        let impossible = try TopicCondition("'{{a}}' in topics && !('b' in topics)")
        #expect(try impossible.clauses(event(["a": "b"])).isEmpty)
        let missing = #expect(throws: RenderProblem.self) { try impossible.clauses(event()) }
        #expect(missing == .missing(name: "a"))
    }
}

extension String {
    fileprivate func components(separatedByText separator: String) -> [String] {
        var parts: [String] = []
        var rest = self[...]
        while let range = rest.firstRange(of: separator) {
            parts.append(String(rest[..<range.lowerBound]))
            rest = rest[range.upperBound...]
        }
        return parts + [String(rest)]
    }
}

/// A condition over six topics that can be evaluated directly.
private indirect enum RandomCondition {
    case topic(Int)
    case not(RandomCondition)
    case all([RandomCondition])
    case any([RandomCondition])

    static func make(levels: Int, using generator: inout SeededGenerator) -> RandomCondition {
        switch levels == 0 ? 0 : Int.random(in: 0..<4, using: &generator) {
        case 0: return .topic(Int.random(in: 0..<6, using: &generator))
        case 1: return .not(make(levels: levels - 1, using: &generator))
        case let kind:
            let parts = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
                make(levels: levels - 1, using: &generator)
            }
            return kind == 2 ? .all(parts) : .any(parts)
        }
    }

    var text: String {
        switch self {
        case .topic(let index): "'t\(index)' in topics"
        case .not(let inner): "!(\(inner.text))"
        case .all(let parts): parts.map { "(\($0.text))" }.joined(separator: " && ")
        case .any(let parts): parts.map { "(\($0.text))" }.joined(separator: " || ")
        }
    }

    func holds(_ topics: Int) -> Bool {
        switch self {
        case .topic(let index): topics >> index & 1 == 1
        case .not(let inner): !inner.holds(topics)
        case .all(let parts): parts.allSatisfy { $0.holds(topics) }
        case .any(let parts): parts.contains { $0.holds(topics) }
        }
    }
}
