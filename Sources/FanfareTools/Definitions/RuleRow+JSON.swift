public import FanfareCore
internal import FanfareProviders
public import FanfareRecords
internal import PostgresClient

extension RuleRow: StoredDefinition {
    package var isListed: Bool { !RuleNames.isOfCampaign(name) }
    package var isRefused: Bool { state == "refused" }
    package var isUnchecked: Bool { state == "unchecked" }

    /// The rule as JSON.
    public var json: JSONValue {
        [
            "app": .string(app), "name": .string(name), "event": .string(event), "version": JSONValue(Int64(version)),
            "state": .string(state), "reason": JSONValue(orNull: reason),
            "version_in_force": JSONValue(orNull: versionInForce.map(Int64.init)), "from_file": .bool(isFromFile),
            "definition": definition,
        ]
    }
}
