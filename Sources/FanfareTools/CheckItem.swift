public import FanfareCore

/// One thing that `fanfare check` looked at.
public struct CheckItem: Sendable, Equatable {
    /// How it is.
    public enum Level: String, Sendable, CaseIterable {
        /// Nothing to do.
        case ok
        /// It works, but somebody should look.
        case warn
        /// A daemon will not work like that.
        case fail
    }

    /// How it is.
    public let level: Level
    /// What was looked at.
    public let name: String
    /// What was found; holds no secret.
    public let detail: String
    /// What to do; empty if nothing.
    public let advice: String

    init(_ level: Level, _ name: String, _ detail: String, advice: String = "") {
        self.level = level
        self.name = name
        self.detail = detail
        self.advice = advice
    }

    init(_ name: String, _ error: ToolError) {
        self.init(.fail, name, error.reason, advice: error.hint)
    }

    /// The item as JSON.
    public var json: JSONValue {
        ["level": .string(level.rawValue), "name": .string(name), "detail": .string(detail), "advice": .string(advice)]
    }

    /// `fail  database: what was found; what to do`.
    public var text: String {
        let word = level.rawValue + String(repeating: " ", count: 4 - level.rawValue.count)
        let found = detail.split(separator: "\n").map { TextTable.printable(String($0)) }.joined(separator: "\n      ")
        return "\(word)  \(name): \(found)\(advice.isEmpty ? "" : "\n      → \(advice)")"
    }
}
