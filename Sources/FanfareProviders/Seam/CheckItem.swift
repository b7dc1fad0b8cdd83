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

    /// Describes what was found.
    ///
    /// - Parameters:
    ///   - level: how it is.
    ///   - name: what was looked at.
    ///   - detail: what was found; no secret.
    ///   - advice: what to do; empty if nothing.
    package init(_ level: Level, _ name: String, _ detail: String, advice: String = "") {
        self.level = level
        self.name = name
        self.detail = detail
        self.advice = advice
    }

    /// The item as JSON.
    public var json: JSONValue {
        ["level": .string(level.rawValue), "name": .string(name), "detail": .string(detail), "advice": .string(advice)]
    }
}
