public import FanfareCore
public import FanfareTools

/// Whether a rule would match an event, and the audience it would reach, in the database's present state.
public struct RuleJudgement: Sendable {
    /// The devices that would be reached, or why they are not counted.
    public enum Audience: Sendable {
        /// Devices in Fanfare's own tables: counted.
        case counted(AudienceCounts)
        /// An audience that a provider manages: one request reaches all of it.
        case kept(by: PushProvider)
        /// An audience that the campaign's `audience_sql` selects when it fires.
        case asked
        /// The event selects no audience, or it could not be counted; the reason.
        case problem(String)
    }

    /// The rule's app.
    public let app: String
    /// The rule's name.
    public let rule: String
    /// The rule's `when`; nil if it has none.
    public let when: String?
    /// Whether the rule matches the event.
    public let isMatched: Bool
    /// The digest's key, and when the digest would close; nil if the event would be pushed by itself.
    public let gathered: (key: String, leaves: String)?
    /// The audience; nil if the rule does not match.
    public let audience: Audience?
    /// The user of the request, if any, with all devices.
    public let user: JudgedUser?

    /// The judgement as JSON.
    public var json: JSONValue {
        var object = JSONObject()
        object["when"] = JSONValue(orNull: when)
        object["matched"] = .bool(isMatched)
        object["gathered"] = gathered.map { ["by": .string($0.key), "leaves": .string($0.leaves)] }
        switch audience {
        case .counted(let counts): object["audience"] = counts.json
        case .kept(let provider): object["audience"] = ["kept_by": .string(provider.rawValue)]
        case .asked: object["audience"] = ["asked": "audience_sql"]
        case .problem(let problem): object["audience"] = ["problem": .string(problem)]
        case nil: break
        }
        object["user"] = user?.json(isMatched: isMatched)
        return .object(object)
    }
}

/// One user, and the result for every device of the app.
public struct JudgedUser: Sendable, Equatable {
    /// One device.
    package struct Device: Sendable, Equatable {
        package let id: Int64
        package let provider: String
        /// Why the device would not get the push; nil if it would.
        package let obstacle: String?
    }

    package let id: String
    package let app: String
    package let devices: [Device]

    func json(isMatched: Bool) -> JSONValue {
        let list = devices.map { device -> JSONValue in
            [
                "id": JSONValue(id: device.id), "provider": .string(device.provider),
                "reached": .bool(isMatched && device.obstacle == nil), "obstacle": JSONValue(orNull: device.obstacle),
            ]
        }
        return ["id": .string(id), "devices": .array(list)]
    }
}
