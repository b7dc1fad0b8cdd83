import FanfareCore
import Testing

@testable import FanfareProviders

/// Returns a valid rule with a merge patch applied: null removes a member, except inside `locales`.
func rule(_ patch: JSONValue = [:]) -> JSONValue {
    let base: JSONValue = [
        "name": "order-shipped", "app": "shop", "event": "order.shipped", "to": ["users": "$.customer_id"],
        "message": ["notification": ["title": "Order {{order_id}}", "body": "On its way"]],
    ]
    return base.applying(mergePatch: patch).setting("locales", to: patch["locales"])
}

/// Returns a rule with the given message, unchanged.
func rule(message: JSONValue, _ patch: JSONValue = [:]) -> JSONValue {
    rule(patch).setting("message", to: message)
}

extension JSONValue {
    /// Returns the value with a member replaced; nil removes it.
    func setting(_ key: String, to value: JSONValue?) -> JSONValue {
        guard case .object(var object) = self else { return self }
        object[key] = value
        return .object(object)
    }
}

/// Returns a rule with an APNs block only.
func rule(headers: JSONValue, payload: JSONValue) -> JSONValue {
    rule(message: ["apns": ["headers": headers, "payload": payload]])
}

/// Returns the problem for which a rule is rejected.
func problem(_ json: JSONValue, sourceLocation: SourceLocation = #_sourceLocation) -> RuleProblem? {
    #expect(throws: RuleProblem.self, sourceLocation: sourceLocation) { try CompiledRule(json: json) }
}
