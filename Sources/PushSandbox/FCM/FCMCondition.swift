/// FCM's condition grammar: `'name' in topics`, `&&`, `||`, `!` and parentheses, at most five topics.
///
/// It only checks whether a condition is acceptable; there are no subscriptions to evaluate.
struct FCMCondition {
    static let mostTopics = 5
    /// The deepest nesting of parentheses; FCM does not document its own limit.
    private static let deepest = 64

    private var rest: Substring
    private var topics = 0

    /// Returns whether FCM accepts a condition.
    static func isAcceptable(_ text: String) -> Bool {
        var condition = FCMCondition(rest: text[...])
        guard condition.expression(depth: 0) else { return false }
        condition.skipBlanks()
        return condition.rest.isEmpty && condition.topics <= mostTopics
    }

    /// Returns whether FCM accepts a topic name.
    static func isTopic(_ name: some StringProtocol) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy(isTopicByte)
    }

    private static func isTopicByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
            UInt8(ascii: "~"), UInt8(ascii: "%"):
            true
        default: false
        }
    }

    private mutating func expression(depth: Int) -> Bool {
        guard depth <= Self.deepest, operand(depth: depth) else { return false }
        while take("&&") || take("||") {
            guard operand(depth: depth) else { return false }
        }
        return true
    }

    private mutating func operand(depth: Int) -> Bool {
        while take("!") {}
        if take("(") {
            return expression(depth: depth + 1) && take(")")
        }
        guard take("'"), let end = rest.firstIndex(of: "'"), Self.isTopic(rest[..<end]) else { return false }
        rest = rest[rest.index(after: end)...]
        topics += 1
        return take("in") && take("topics")
    }

    private mutating func take(_ word: String) -> Bool {
        skipBlanks()
        guard rest.hasPrefix(word) else { return false }
        rest = rest.dropFirst(word.count)
        return true
    }

    private mutating func skipBlanks() {
        rest = rest.drop { $0 == " " || $0 == "\t" || $0 == "\n" }
    }
}
