import FanfareCore
import Testing

@testable import FanfareProviders

/// A rule that is accepted, changed by a merge patch: null removes, but inside `locales` it stays.
func rule(_ patch: JSONValue = [:]) -> JSONValue {
    let base: JSONValue = [
        "name": "order-shipped", "app": "shop", "event": "order.shipped", "to": ["users": "$.customer_id"],
        "message": ["notification": ["title": "Order {{order_id}}", "body": "On its way"]],
    ]
    return base.applying(mergePatch: patch).setting("locales", to: patch["locales"])
}

/// A rule with a message of its own, kept as it is.
func rule(message: JSONValue, _ patch: JSONValue = [:]) -> JSONValue {
    rule(patch).setting("message", to: message)
}

extension JSONValue {
    /// Replaces a member; nil removes it.
    func setting(_ key: String, to value: JSONValue?) -> JSONValue {
        guard case .object(var object) = self else { return self }
        object[key] = value
        return .object(object)
    }
}

/// A rule with an APNs block only.
func rule(headers: JSONValue, payload: JSONValue) -> JSONValue {
    rule(message: ["apns": ["headers": headers, "payload": payload]])
}

/// What a rule is refused with.
func problem(_ json: JSONValue, sourceLocation: SourceLocation = #_sourceLocation) -> RuleProblem? {
    #expect(throws: RuleProblem.self, sourceLocation: sourceLocation) { try CompiledRule(json: json) }
}
