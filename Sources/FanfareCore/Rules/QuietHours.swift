/// A part of the day, in the device's local time, in which pushes are suppressed.
public struct QuietHours: Equatable, Sendable {
    /// How a push in quiet hours is handled.
    public enum Mode: String, CaseIterable, Sendable {
        /// It is sent after they end.
        case hold
        /// It is dropped.
        case drop
    }

    static let keys = ["from", "until", "mode"]

    /// When they start, such as `22:00`.
    public let from: String
    /// When they end; earlier than ``from`` if they include midnight.
    public let until: String
    /// How a push in quiet hours is handled.
    public let mode: Mode

    init(_ reader: RuleObject) throws(RuleProblem) {
        try reader.checkKeys(Self.keys)
        from = try Self.time(reader, "from")
        until = try Self.time(reader, "until")
        guard from != until else {
            throw RuleProblem(
                path: reader.path("until"),
                reason: "is the same as from",
                hint: "write another time, or leave quiet hours out"
            )
        }
        guard let mode = reader.object["mode"] else {
            mode = .hold
            return
        }
        guard let mode = mode.stringValue.flatMap(Mode.init) else {
            throw RuleProblem(
                path: reader.path("mode"),
                reason: "is neither hold nor drop",
                hint: "hold sends when they are over what comes in them, drop ends it"
            )
        }
        self.mode = mode
    }

    /// The form in a rule.
    var json: JSONValue {
        var object = JSONObject()
        object["from"] = .string(from)
        object["until"] = .string(until)
        if mode != .hold { object["mode"] = .string(mode.rawValue) }
        return .object(object)
    }

    /// Parses a time of day.
    private static func time(_ reader: RuleObject, _ key: String) throws(RuleProblem) -> String {
        let value = reader.object[key]
        guard let text = value?.stringValue, isTime(text) else {
            throw RuleProblem(
                path: reader.path(key),
                reason: value == nil ? "is missing" : "is not a time of day",
                hint: "write what clocks show, from 00:00 to 23:59, as in \"22:00\""
            )
        }
        return text
    }

    private static func isTime(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 5, bytes[2] == UInt8(ascii: ":"), [0, 1, 3, 4].allSatisfy({ bytes[$0].isDigit }) else {
            return false
        }
        return text.prefix(2) < "24" && text.suffix(2) < "60"
    }
}
