/// The properties of an event for rendering.
public struct RenderContext: Sendable {
    /// The id: `{{event.id}}`.
    public var eventID: EventID
    /// The type: `{{event.type}}`.
    public var eventType: String
    /// The idempotency key, if it has one: `{{event.key}}`.
    public var eventKey: String?
    /// The payload; the keys of its root are names in templates.
    public var payload: JSONObject
    /// The end of its lifetime, in seconds since 1970; nil if the provider is not told one.
    public var expiration: Int64?
    /// The time of rendering, in seconds since 1970, by the clock of ``expiration``.
    ///
    /// FCM and Web Push take a remaining duration instead of an end: without this time, the request is made as if there
    /// were no ``expiration``.
    public var now: Int64?
    /// The time of its emission, in seconds since 1970: `{{event.time}}`.
    public var time: Int64?
    /// The seconds of the message's own lifetime that have passed; 0 except for retries that had to wait.
    public var secondsSpent: Int64
    /// The id of the original event if this one is a replay: `{{event.replay_of}}`.
    public var replayOf: Int64?
    /// The handle for reports: `{{event.report}}`, empty if devices do not report on the push.
    public var report: String?

    /// Makes a context.
    ///
    /// - Parameters:
    ///   - eventID: its id.
    ///   - eventType: its type.
    ///   - eventKey: its idempotency key.
    ///   - payload: its payload.
    ///   - expiration: the end of its lifetime, in seconds since 1970.
    ///   - now: the time of rendering, in seconds since 1970.
    ///   - time: the time of its emission, in seconds since 1970.
    ///   - secondsSpent: the seconds to subtract from the message's own lifetime.
    ///   - replayOf: the id of the original event.
    public init(
        eventID: EventID,
        eventType: String,
        eventKey: String? = nil,
        payload: JSONObject,
        expiration: Int64? = nil,
        now: Int64? = nil,
        time: Int64? = nil,
        secondsSpent: Int64 = 0,
        replayOf: Int64? = nil
    ) {
        self.eventID = eventID
        self.eventType = eventType
        self.eventKey = eventKey
        self.payload = payload
        self.expiration = expiration
        self.now = now
        self.time = time
        self.secondsSpent = secondsSpent
        self.replayOf = replayOf
    }
}

/// The properties of a device and its user for rendering.
public struct DeviceContext: Sendable {
    /// The device's id: `{{device.id}}`.
    public var deviceID: Int64
    /// The user, if any: `{{user.id}}`.
    public var userID: String?
    /// The locale: `{{device.locale}}`.
    public var locale: String?
    /// The time zone: `{{device.time_zone}}`.
    public var timeZone: String?
    /// The attributes: `{{device.attributes.tier}}`.
    public var attributes: JSONObject
    /// The other columns of a campaign's `audience_sql`: `{{recipient.first_name}}`, and `{{user.first_name}}`.
    public var variables: JSONObject

    /// Makes a context.
    ///
    /// - Parameters:
    ///   - deviceID: its id.
    ///   - userID: the user.
    ///   - locale: its locale.
    ///   - timeZone: its time zone.
    ///   - attributes: its attributes.
    ///   - variables: the other columns of a campaign's `audience_sql`.
    public init(
        deviceID: Int64,
        userID: String? = nil,
        locale: String? = nil,
        timeZone: String? = nil,
        attributes: JSONObject = JSONObject(),
        variables: JSONObject = JSONObject()
    ) {
        self.deviceID = deviceID
        self.userID = userID
        self.locale = locale
        self.timeZone = timeZone
        self.attributes = attributes
        self.variables = variables
    }

    var deviceObject: JSONValue {
        [
            "id": .number(JSONNumber(deviceID)),
            "locale": locale.map(JSONValue.string) ?? .null,
            "time_zone": timeZone.map(JSONValue.string) ?? .null,
            "attributes": .object(attributes),
        ]
    }

    var userObject: JSONValue {
        var user = variables
        user["id"] = userID.map(JSONValue.string) ?? .null
        return .object(user)
    }
}

/// Looks up the names of templates: first in the payload's root, then among `event`, `device`, `user` and `recipient`.
///
/// A payload with a key of one of those names hides Fanfare's own.
package struct TemplateScope {
    package let context: RenderContext
    package let device: DeviceContext?
    /// The values that Fanfare computes.
    package var derived = DerivedValues()
    /// The user's badge count, if `badge_sql` returned one.
    package var badge: Int64?
    /// The limits for all texts rendered in this scope together.
    let budget = RenderBudget()

    /// Makes a scope for an event and a device.
    package init(context: RenderContext, device: DeviceContext?, badge: Int64? = nil) {
        (self.context, self.device, self.badge) = (context, device, badge)
    }

    /// Returns the value of the first part of a name.
    ///
    /// - Parameter name: the part before the first dot.
    /// - Returns: the value, which may be null; nil if it is missing.
    func root(_ name: String) -> JSONValue? {
        if let value = context.payload[name] { return value }
        switch name {
        case "event":
            return [
                "id": .number(JSONNumber(context.eventID.rawValue)),
                "type": .string(context.eventType),
                "key": context.eventKey.map(JSONValue.string) ?? .null,
                "time": context.time.map { .number(JSONNumber($0)) } ?? .null,
                "replay_of": context.replayOf.map { .number(JSONNumber($0)) } ?? .null,
                "report": .string(context.report ?? ""),
            ]
        case "device": return device?.deviceObject
        case "user": return device?.userObject
        case "recipient": return device.flatMap { $0.variables.isEmpty ? nil : .object($0.variables) }
        default: return nil
        }
    }

    /// Returns the value of a name, with its transforms applied.
    ///
    /// - Parameter expression: the name, which must not be relative.
    /// - Returns: a value other than null.
    /// - Throws: `RenderProblem` if the name is missing or null, or a transform does not apply.
    package func value(of expression: TemplateExpression) throws(RenderProblem) -> JSONValue {
        let components = expression.path.components
        guard let first = components.first, var value = root(first) else {
            throw .missing(name: expression.path.text)
        }
        for component in components.dropFirst() {
            guard let child = value[component] else { throw .missing(name: expression.path.text) }
            value = child
        }
        guard !value.isNull else { throw .missing(name: expression.path.text) }
        return expression.transforms.isEmpty ? value : try expression.transformed(value, within: budget)
    }
}

extension TemplateExpression {
    /// Returns a value with the transforms applied.
    func transformed(_ value: JSONValue, within budget: RenderBudget) throws(RenderProblem) -> JSONValue {
        var value = value
        for transform in transforms {
            try budget.take(transforming: value)
            guard let next = transform.apply(to: value), !next.isNull else {
                throw .transform(name: path.text, transform: transform.rawValue)
            }
            value = next
        }
        return value
    }

    /// Returns the text of a scalar.
    package func text(of value: JSONValue) throws(RenderProblem) -> String {
        switch value {
        case .string(let text): return text
        case .number(let number): return number.literal
        case .bool(let flag): return flag ? "true" : "false"
        case .null: throw .missing(name: path.text)
        case .array, .object: throw .notText(name: path.text)
        }
    }
}
