/// Parses one field of a cron expression: a list of values, ranges and steps.
struct CronFieldParser {
    private let field: CronField

    init(_ field: CronField) { self.field = field }

    /// Returns the values of a field.
    ///
    /// - Parameter text: a field such as `*/15`, `9-17`, `mon,wed`.
    /// - Returns: the values, ascending and without duplicates, Sunday as 0; never empty.
    /// - Throws: the error of the first invalid part.
    func parse(_ text: Substring) throws(CronProblem) -> [Int] {
        var values: Set<Int> = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            values.formUnion(try parsePart(part))
        }
        if field == .weekday, values.remove(7) != nil { values.insert(0) }
        return values.sorted()
    }

    private func parsePart(_ part: Substring) throws(CronProblem) -> Set<Int> {
        guard !part.isEmpty else { throw problem("a comma without a value beside it", "remove it") }
        let pieces = part.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let range = try parseRange(pieces[0])
        guard pieces.count == 2 else { return Set(range) }
        guard pieces[0] == "*" || pieces[0].contains("-") else {
            let hint = "write \(range.lowerBound)-\(field.range.upperBound)/\(pieces[1].prefix(9))"
            throw problem("\(quoted(part)) has a step without a range", hint)
        }
        return Set(stride(from: range.lowerBound, through: range.upperBound, by: try parseStep(pieces[1])))
    }

    private func parseRange(_ text: Substring) throws(CronProblem) -> ClosedRange<Int> {
        if text == "*" { return field.range }
        let ends = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let first = try parseValue(ends[0], of: text)
        guard ends.count == 2 else { return first...first }
        let last = try parseValue(ends[1], of: text)
        guard first <= last else { throw backward(text, from: first, to: last) }
        return first...last
    }

    private func parseValue(_ text: Substring, of range: Substring) throws(CronProblem) -> Int {
        guard let value = field.value(text) else {
            throw problem(
                "\(quoted(text.isEmpty ? range : text)) is not a valid \(field.rawValue)",
                "use \(field.choice)"
            )
        }
        return value
    }

    /// Parses a step; a longer one would select only the start of each range, which is never intended: `*/90` is every
    /// hour.
    private func parseStep(_ text: Substring) throws(CronProblem) -> Int {
        guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit), let step = Int(text), (1...field.count).contains(step)
        else {
            throw problem("\(quoted(text)) is not a step", "use 1 to \(field.count)")
        }
        return step
    }

    private func backward(_ text: Substring, from first: Int, to last: Int) -> CronProblem {
        if field == .weekday, last == 0 { return problem("\(quoted(text)) runs backwards", "write \(first)-7") }
        let (lowest, highest) = (field.range.lowerBound, field == .weekday ? 6 : field.range.upperBound)
        let parts = [(first, highest), (lowest, last)].map { $0 == $1 ? "\($0)" : "\($0)-\($1)" }
        return problem("\(quoted(text)) runs backwards", "write \(parts.joined(separator: ","))")
    }

    private func quoted(_ text: Substring) -> String { "'\(text.prefix(80))'" }

    private func problem(_ reason: String, _ hint: String) -> CronProblem {
        CronProblem(field: field, reason: reason, hint: hint)
    }
}
