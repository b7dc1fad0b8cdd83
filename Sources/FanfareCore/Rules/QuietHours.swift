/// A part of the day, in the device's local time, in which pushes are suppressed.
public struct QuietHours: Equatable, Sendable {
    /// How a push in quiet hours is handled.
    public enum Mode: String, CaseIterable, Sendable {
        /// It is sent after they end.
        case hold
        /// It is dropped.
        case drop
    }

    /// When they start, such as `22:00`.
    public let from: String
    /// When they end; earlier than ``from`` if they include midnight.
    public let until: String
    /// How a push in quiet hours is handled.
    public let mode: Mode

    /// Reads an object that ``DefinitionObject/quietHours`` allows.
    init(_ object: JSONObject, path: String) throws(RuleProblem) {
        from = object.text("from") ?? ""
        until = object.text("until") ?? ""
        mode = object.text("mode").flatMap(Mode.init) ?? .hold
        guard from != until else {
            throw RuleProblem(
                path: "\(path).until",
                reason: "is the same as from",
                hint: "write another time, or leave quiet hours out"
            )
        }
    }

    /// The form in a rule.
    var json: JSONValue {
        var object = JSONObject()
        object["from"] = .string(from)
        object["until"] = .string(until)
        if mode != .hold { object["mode"] = .string(mode.rawValue) }
        return .object(object)
    }
}
