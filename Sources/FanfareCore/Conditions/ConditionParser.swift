/// Parses FCM's condition grammar: `'a' in topics && !('b' in topics || 'c' in topics)`.
///
/// FCM gives `&&` and `||` equal precedence, while most authors expect `&&` to bind more tightly. A mix without
/// parentheses is therefore refused; the error shows both readings, or one if they agree.
struct ConditionParser {
    /// The limit of nested parentheses.
    static let nestingLimit = 32
    /// The maximum length of a condition, in characters.
    static let lengthLimit = 65_536

    private let characters: [Character]
    private var position = 0
    private(set) var names: [TextTemplate] = []

    init(_ text: String) { characters = Array(text) }

    mutating func parse() throws(ConditionProblem) -> ConditionExpression {
        guard characters.count <= Self.lengthLimit else {
            throw problem("more than \(Self.lengthLimit) characters", "shorten the condition", at: 0)
        }
        let expression = try parseExpression(level: 0).expression
        guard position == characters.count else {
            throw problem("unexpected '\(characters[position])'", "expected &&, || or the end")
        }
        return expression
    }

    /// A part of the condition with its text, for the two readings.
    private struct Operand {
        let expression: ConditionExpression
        let text: String
    }

    private enum Connective: String {
        case and = "&&"
        case or = "||"
    }

    private mutating func parseExpression(level: Int) throws(ConditionProblem) -> Operand {
        guard level <= Self.nestingLimit else {
            throw problem("more than \(Self.nestingLimit) levels of parentheses", "simplify the condition")
        }
        skipSpace()
        let start = position
        var operands = [try parseOperand(level: level)]
        var connectives: [Connective] = []
        var mixedAt: Int?
        while let connective = try parseConnective() {
            if let first = connectives.first, first != connective, mixedAt == nil { mixedAt = position - 2 }
            connectives.append(connective)
            operands.append(try parseOperand(level: level))
        }
        if let mixedAt { throw mixed(operands.map(\.text), connectives, at: mixedAt) }
        let text = text(from: start)
        guard let connective = connectives.first else { return Operand(expression: operands[0].expression, text: text) }
        let parts = operands.map(\.expression)
        return Operand(expression: connective == .and ? .all(parts) : .any(parts), text: text)
    }

    private mutating func parseOperand(level: Int) throws(ConditionProblem) -> Operand {
        skipSpace()
        let start = position
        guard position < characters.count else {
            throw problem("the condition ends too early", "expected 'name' in topics")
        }
        let expression: ConditionExpression
        switch characters[position] {
        case "!":
            guard level < Self.nestingLimit else {
                throw problem("more than \(Self.nestingLimit) levels", "simplify the condition")
            }
            position += 1
            expression = .not(try parseOperand(level: level + 1).expression)
        case "(":
            position += 1
            expression = try parseExpression(level: level + 1).expression
            skipSpace()
            guard position < characters.count, characters[position] == ")" else {
                throw problem("the parenthesis of column \(start + 1) is not closed", "add )")
            }
            position += 1
        case "'": expression = try parseTopic()
        case "\"": throw problem("a double quote", "put topic names in single quotes")
        default: throw problem("unexpected '\(characters[position])'", "expected 'name' in topics, ! or (")
        }
        let operand = Operand(expression: expression, text: text(from: start))
        skipSpace()
        return operand
    }

    private mutating func parseTopic() throws(ConditionProblem) -> ConditionExpression {
        let start = position
        position += 1
        guard let end = characters[position...].firstIndex(of: "'") else {
            throw problem("the quote is not closed", "add '", at: start)
        }
        let name = String(characters[position..<end])
        position = end + 1
        for word in ["in", "topics"] {
            let before = position
            skipSpace()
            let found = characters[position...].prefix { $0.isLetter || $0.isNumber || $0 == "_" }
            guard String(found) == word, position > before || word == "in" else {
                throw problem("expected '\(word)' after the topic", "write '\(name)' in topics")
            }
            position += found.count
        }
        return .topic(try index(of: name, at: start))
    }

    private mutating func index(of name: String, at start: Int) throws(ConditionProblem) -> Int {
        let template: TextTemplate
        do {
            template = try TextTemplate(name)
        } catch {
            throw ConditionProblem(column: start + 2, reason: "\(error.tag) \(error.reason)", hint: error.hint)
        }
        guard TopicName.isPossible(template) else {
            throw problem(
                "'\(name.prefix(80))' is not a topic name",
                "use 1 to \(TopicName.lengthLimit) of a-z A-Z 0-9 - _ . ~ %",
                at: start
            )
        }
        if template.usesDevice {
            throw problem("a topic cannot depend on a device", "use names of the payload only", at: start)
        }
        if let index = names.firstIndex(of: template) { return index }
        guard names.count < TopicClause.topicLimit else {
            throw problem("more than \(TopicClause.topicLimit) topics", "split the rule", at: start)
        }
        names.append(template)
        return names.count - 1
    }

    private mutating func parseConnective() throws(ConditionProblem) -> Connective? {
        skipSpace()
        guard position < characters.count, characters[position] != ")" else { return nil }
        let pair = String(characters[position...].prefix(2))
        if let connective = Connective(rawValue: pair) {
            position += 2
            return connective
        }
        throw problem("unexpected '\(characters[position])'", "expected &&, || or the end")
    }

    private mutating func skipSpace() {
        while position < characters.count, characters[position].isWhitespace { position += 1 }
    }

    private func text(from start: Int) -> String {
        var range = characters[start..<position]
        while range.last?.isWhitespace == true { range.removeLast() }
        return String(range)
    }

    private func problem(_ reason: String, _ hint: String, at offset: Int? = nil) -> ConditionProblem {
        ConditionProblem(column: (offset ?? position) + 1, reason: reason, hint: hint)
    }

    private func mixed(_ operands: [String], _ connectives: [Connective], at offset: Int) -> ConditionProblem {
        // With && first, runs of && become one operand of ||.
        var groups = [[operands[0]]]
        for (connective, operand) in zip(connectives, operands.dropFirst()) {
            if connective == .and { groups[groups.count - 1].append(operand) } else { groups.append([operand]) }
        }
        let parts = groups.map { $0.count == 1 ? $0[0] : "(" + $0.joined(separator: " && ") + ")" }
        let usual = parts.joined(separator: " || ")
        let ofFCM = Self.leftToRight(operands, connectives)
        return problem(
            "mixes && and || without parentheses",
            "write \(usual == ofFCM ? "" : "\(usual) or ")\(ofFCM), which is how FCM reads it",
            at: offset
        )
    }
    /// Returns FCM's reading: at each change of the operator, the operands before it form a group.
    private static func leftToRight(_ operands: [String], _ connectives: [Connective]) -> String {
        var text = operands[0]
        for (index, connective) in connectives.enumerated() {
            if index > 0, connectives[index - 1] != connective { text = "(\(text))" }
            text += " \(connective.rawValue) \(operands[index + 1])"
        }
        return text
    }
}
