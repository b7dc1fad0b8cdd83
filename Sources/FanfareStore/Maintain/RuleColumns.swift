package import FanfareCore

/// The columns that planning needs for a checked rule.
package struct RuleColumns: Equatable {
    package var eventType: String
    package var whenPath: String?
    package var audience: String
    package var audiencePath: String?
    /// The provider that manages the audience; nil if Fanfare does.
    package var nativeProvider: String?
    package var devicesPath: String?
    /// The permissions that pass the filter, as an array literal; nil for no filter.
    package var permissions: String?
    /// What devices must present, as an array literal; nil for no filter.
    package var presents: String?
    package var kind: String
    package var provider: String?
    package var lane: Int16
    package var ttlSeconds: Int64?
    package var supersede: Bool
    package var enabled: Bool
    /// Whether its events are gathered: another version takes them, and this one takes the resulting digests.
    package var isDigest = false
    /// The events that take its pushes back.
    package var retractOn: RetractDefinition?
    /// The events that its pushes should lead to.
    package var conversion: ConversionDefinition?
}

extension RuleColumns {
    /// Creates the columns of a rule whose paths are not probed yet.
    package init(_ definition: RuleDefinition) {
        let selection = definition.audience.selection
        var path: String?
        switch selection {
        case .users(let text), .tokens(let text): path = text
        case .usersSQL, .topic, .condition, .everyone, .fcmTopic, .fcmCondition, .channel, .staged: break
        }
        self.init(
            eventType: definition.event,
            whenPath: definition.when,
            audience: selection.key.rawValue,
            audiencePath: path,
            nativeProvider: selection.provider?.rawValue,
            devicesPath: definition.audience.devices,
            permissions: definition.audience.permissions.map { Self.literal($0.map(\.rawValue)) },
            presents: definition.audience.presents.map { Self.literal($0.map(\.rawValue)) },
            kind: definition.audience.kind.rawValue,
            provider: definition.audience.provider?.rawValue,
            lane: definition.lane.rawValue,
            ttlSeconds: definition.ttl?.seconds,
            supersede: definition.dropsOlder,
            enabled: definition.enabled,
            isDigest: definition.digest != nil,
            retractOn: definition.retractOn,
            conversion: definition.conversion
        )
    }

    /// Words without special characters need no quotes.
    private static func literal(_ words: [String]) -> String { "{\(words.joined(separator: ","))}" }

    /// The rule's jsonpaths.
    package var paths: [RulePath] {
        [
            whenPath.map { RulePath(place: "when", text: $0, isPredicate: true) },
            devicesPath.map { RulePath(place: "to.devices", text: $0, isPredicate: true) },
            audiencePath.map { RulePath(place: "to.\(audience)", text: $0, isPredicate: false) },
        ].compactMap(\.self)
    }
}
