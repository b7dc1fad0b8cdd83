/// The types that a phone expects in a payload.
///
/// APNs accepts any JSON, and the phone ignores values of another type; the sandbox rejects them, so that a test fails.
enum ApplePayload {
    private enum Kind {
        case text, flag, list, object
        case number(ClosedRange<Double>)
    }

    private static let seconds = Kind.number(0...99_999_999_999)
    private static let count = Kind.number(0...2_147_483_647)
    private static let fields: [String: [Kind]] = [
        "alert": [.text, .object], "badge": [count], "sound": [.text, .object], "thread-id": [.text],
        "category": [.text], "content-available": [.number(0...1)], "mutable-content": [.number(0...1)],
        "target-content-id": [.text], "interruption-level": [.text],
        "relevance-score": [.number(0...Double.greatestFiniteMagnitude)], "filter-criteria": [.text],
        "stale-date": [seconds], "content-state": [.object], "timestamp": [seconds], "event": [.text],
        "dismissal-date": [seconds], "attributes-type": [.text], "attributes": [.object],
        "input-push-token": [.number(0...1)], "input-push-channel": [.text], "content-changed": [.flag],
    ]
    private static let alert: [String: [Kind]] = [
        "title": [.text, .object], "subtitle": [.text], "body": [.text, .object], "launch-image": [.text],
        "title-loc-key": [.text], "title-loc-args": [.list], "subtitle-loc-key": [.text],
        "subtitle-loc-args": [.list], "loc-key": [.text], "loc-args": [.list],
    ]
    private static let sound: [String: [Kind]] = [
        "critical": [.number(0...1)], "name": [.text], "volume": [.number(0...1)],
    ]
    private static let levels: Set<String> = ["passive", "active", "time-sensitive", "critical"]

    /// Finds the first value that a phone would ignore.
    ///
    /// - Parameter payload: the payload for the phone.
    /// - Returns: a path such as `aps.badge`; nil if there is none.
    static func fault(in payload: JSONObject) -> String? {
        guard let aps = payload["aps"] else { return nil }
        guard let members = aps.members else { return "aps" }
        if let place = fault(in: members, fields, at: "aps") { return place }
        if let level = members["interruption-level"]?.text, !levels.contains(level) { return "aps.interruption-level" }
        let inAlert = members["alert"]?.members.flatMap { fault(in: $0, alert, at: "aps.alert") }
        return inAlert ?? members["sound"]?.members.flatMap { fault(in: $0, sound, at: "aps.sound") }
    }

    private static func fault(in object: JSONObject, _ fields: [String: [Kind]], at path: String) -> String? {
        for (name, value) in object.members {
            guard let kinds = fields[name], !kinds.contains(where: { matches(value, $0) }) else { continue }
            return "\(path).\(name)"
        }
        return nil
    }

    private static func matches(_ value: JSONValue, _ kind: Kind) -> Bool {
        switch (kind, value) {
        case (.text, .string), (.flag, .bool), (.list, .array), (.object, .object): true
        case (.number(let range), .integer(let number)): range.contains(Double(number))
        case (.number(let range), .number(let number)): range.contains(number)
        default: false
        }
    }
}
