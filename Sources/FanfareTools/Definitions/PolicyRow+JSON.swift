public import FanfareCore
public import FanfareRecords

extension PolicyRow: StoredDefinition {
    package var id: RuleID { RuleID(app: app, name: "") }
    package var canonical: JSONValue { definition }
    package var isFromFile: Bool { false }
    package var isRefused: Bool { false }
    package var isUnchecked: Bool { false }

    /// The policy as JSON.
    public var json: JSONValue { ["app": .string(app), "policy": definition] }
}
