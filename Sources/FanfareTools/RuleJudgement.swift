public import FanfareCore

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

    /// The judgement as text for people: the rule's name and `when`, then its audience.
    public var text: String {
        let verdict =
            isMatched
            ? (when == nil ? "matches every event of its type" : "matches the event") : "does not match the event"
        var lines = ["\(app)/\(rule)  \(verdict)" + (when.map { "  (when: \(TextTable.printable($0)))" } ?? "")]
        if let gathered {
            let key = TextTable.printable(gathered.key)
            lines.append("  combined by '\(key)' and sent as one push \(gathered.leaves)")
        }
        switch audience {
        case .counted(let counts): lines += ([counts.text] + counts.suppressed.lines).map { "  " + $0 }
        case .asked: lines.append("  audience_sql selects the audience when the campaign runs")
        case .kept(let provider): lines.append("  \(provider.rawValue) manages the audience: one request for everyone")
        case .problem(let problem): lines.append("  no device: \(TextTable.printable(problem))")
        case nil: break
        }
        return (lines + (user?.lines(isMatched: isMatched) ?? []).map { "  " + $0 }).joined(separator: "\n")
    }
}

/// The number of devices that a rule would reach.
public struct AudienceCounts: Sendable, Equatable {
    /// The devices of one provider.
    package struct Provider: Sendable, Equatable {
        package let name: String
        package let devices: Int64
    }

    /// The providers with at least one device.
    package let providers: [Provider]
    /// The number of users.
    package let users: Int64
    /// Matching devices that are disabled.
    package let disabled: Int64
    /// How many users the rule's query returned; nil if it has none.
    var named: Int64?
    /// Devices for which the push would be suppressed now.
    var suppressed = SuppressedCounts()
    /// The suppressions as text for people; empty if all devices get the push at once.
    package var suppressedLines: [String] { suppressed.lines }
    /// Providers whose credentials the configuration lacks.
    package var withoutCredentials: [String] = []

    /// The total number of devices.
    package var devices: Int64 { providers.reduce(0) { $0 + $1.devices } }

    var json: JSONValue {
        var byProvider = JSONObject()
        for provider in providers { byProvider[provider.name] = JSONValue(provider.devices) }
        var object = JSONObject()
        object["devices"] = JSONValue(devices)
        object["users"] = JSONValue(users)
        object["named_users"] = named.map { JSONValue($0) }
        object["disabled"] = JSONValue(disabled)
        object["providers"] = .object(byProvider)
        (object["suppressed"], object["later"]) = suppressed.json
        object["without_credentials"] = .array(withoutCredentials.map(JSONValue.string))
        return .object(object)
    }

    var text: String {
        let query = named.map { "; users_sql names \(Self.count($0, "user"))" } ?? ""
        let others = (disabled == 0 ? "" : "; disabled: \(disabled)") + query
        guard devices > 0 else { return "no device would get it\(others)" }
        let parts = providers.map { "\($0.name) \($0.devices)" }.joined(separator: ", ")
        let lacking =
            withoutCredentials.isEmpty
            ? "" : "; this configuration has no credentials for \(withoutCredentials.joined(separator: ", "))"
        return
            "\(Self.count(devices, "device")) of \(Self.count(users, "user")) would get it: \(parts)\(others)\(lacking)"
    }

    private static func count(_ number: Int64, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
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
    let app: String
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

    func lines(isMatched: Bool) -> [String] {
        let name = TextTable.printable(id)
        guard isMatched else { return ["\(name) gets nothing: the rule does not match the event"] }
        guard !devices.isEmpty else { return ["\(name) gets nothing: no device of this user is registered for \(app)"] }
        return devices.map { device in
            let verdict = device.obstacle.map { "would not get it: \(TextTable.printable($0))" } ?? "would get it"
            return "\(name): device \(device.id) (\(device.provider)) \(verdict)"
        }
    }
}
