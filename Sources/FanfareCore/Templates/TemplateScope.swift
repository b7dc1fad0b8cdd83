/// What is known about an event when its rules are rendered.
public struct RenderContext: Sendable {
    /// The event's id: `{{event.id}}`.
    public var eventID: EventID
    /// The event's type: `{{event.type}}`.
    public var eventType: String
    /// The event's idempotency key, if it has one: `{{event.key}}`.
    public var eventKey: String?
    /// The event's payload; the keys of its root are the names of templates.
    public var payload: JSONObject
    /// Until when it may be delivered, in seconds since 1970; nil if nothing is to be said to the provider.
    public var expiration: Int64?
    /// When it is rendered, in seconds since 1970, by the clock ``expiration`` is read from.
    ///
    /// FCM and Web Push are told how long a push may wait, not until when: without this they are told as if there were no
    /// ``expiration``.
    public var now: Int64?
    /// When the event was emitted, in seconds since 1970: `{{event.time}}`.
    public var time: Int64?
    /// How many seconds of the time that the message itself gives are over; 0 for all attempts but those that had to wait.
    public var secondsSpent: Int64
    /// The event that it is once more, if it was replayed: `{{event.replay_of}}`.
    public var replayOf: Int64?

    /// Describes an event.
    ///
    /// - Parameters:
    ///   - eventID: its id.
    ///   - eventType: its type.
    ///   - eventKey: its idempotency key.
    ///   - payload: its payload.
    ///   - expiration: until when it may be delivered, in seconds since 1970.
    ///   - now: when it is rendered, in seconds since 1970.
    ///   - time: when it was emitted, in seconds since 1970.
    ///   - secondsSpent: what a retry takes off the time that the message itself gives.
    ///   - replayOf: the event that it is once more.
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

/// What a template may say about the device it is rendered for, and its user.
public struct DeviceContext: Sendable {
    /// The device's id: `{{device.id}}`.
    public var deviceID: Int64
    /// The user it belongs to, if any: `{{user.id}}`.
    public var userID: String?
    /// Its locale: `{{device.locale}}`.
    public var locale: String?
    /// Its time zone: `{{device.time_zone}}`.
    public var timeZone: String?
    /// Its attributes: `{{device.attributes.tier}}`.
    public var attributes: JSONObject
    /// What a campaign's `audience_sql` gave beside the user: `{{recipient.first_name}}`, and `{{user.first_name}}`.
    public var variables: JSONObject

    /// Describes a device.
    ///
    /// - Parameters:
    ///   - deviceID: its id.
    ///   - userID: the user it belongs to.
    ///   - locale: its locale.
    ///   - timeZone: its time zone.
    ///   - attributes: its attributes.
    ///   - variables: what a campaign says of its user.
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

/// Where the names of a template are looked up: first in the payload's root, then among `event`, `device`, `user` and
/// `recipient`.
///
/// A payload that has a key of one of those names hides Fanfare's own.
package struct TemplateScope {
    package let context: RenderContext
    package let device: DeviceContext?
    /// What bodies say beside their templates.
    package var derived = DerivedValues()
    /// The user's badge count, if `badge_sql` gave one.
    package var badge: Int64?
    /// What all texts that are rendered in it may cost together.
    let budget = RenderBudget()

    /// Takes an event, and for whom it is rendered.
    package init(context: RenderContext, device: DeviceContext?, badge: Int64? = nil) {
        (self.context, self.device, self.badge) = (context, device, badge)
    }

    /// Looks up the first part of a name.
    ///
    /// - Parameter name: the part before the first dot.
    /// - Returns: the value, which may be null; nil if there is none.
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
            ]
        case "device": return device?.deviceObject
        case "user": return device?.userObject
        case "recipient": return device.flatMap { $0.variables.isEmpty ? nil : .object($0.variables) }
        default: return nil
        }
    }

    /// Looks up a name and applies its transforms.
    ///
    /// - Parameter expression: the name, not relative.
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
    /// Applies the transforms to what the name stands for.
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

    /// The text of a scalar.
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
