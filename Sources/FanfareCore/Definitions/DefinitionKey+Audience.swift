extension DefinitionKey {
    /// The keys of `to`: those that select the audience, then the filters.
    static let audience: [DefinitionKey] = [
        DefinitionKey("users", .jsonpath, "The ids of users in the payload, one or many."),
        DefinitionKey(
            "users_sql",
            .sql,
            range: "a query of one column, at most \(RuleDefinition.sqlLimit) bytes",
            "A query that returns the ids of users. It runs for each event, with the event's payload in `$1` (`jsonb`)."
        ),
        DefinitionKey(
            "tokens",
            .jsonpath,
            "Tokens in the payload. A rule with this key needs `to.provider`. Unknown tokens are registered."
        ),
        DefinitionKey(
            "topic",
            .template,
            range: "1 to \(TopicName.lengthLimit) of a-z A-Z 0-9 - _ . ~ %",
            "The devices that subscribed to a topic."
        ),
        DefinitionKey(
            "condition",
            .template,
            range: "at most \(TopicClause.topicLimit) topics",
            "The devices whose topics satisfy a condition, such as `'news' in topics && !('muted' in topics)`."
        ),
        DefinitionKey("everyone", .yes, hint: #"write "everyone": true"#, "All devices of the app."),
        DefinitionKey(
            "fcm_topic",
            .template,
            "One of FCM's own topics, reached by a single request: FCM stores the subscribers."
        ),
        DefinitionKey(
            "fcm_condition",
            .template,
            range: "at most \(NativeAudience.topicLimit) topics",
            "A condition on FCM's own topics, reached by a single request."
        ),
        DefinitionKey(
            "channel",
            .template,
            "The id of an APNs broadcast channel for Live Activities, reached by a single request."
        ),
        DefinitionKey("devices", .predicate, "Only devices whose attributes satisfy the predicate."),
        DefinitionKey(
            "provider",
            .string,
            range: "a provider's name, such as apns",
            standard: "all providers for which the message has content",
            "Only devices of this provider."
        ),
        DefinitionKey(
            "kind",
            .word(DeviceKind.allCases.map(\.rawValue)),
            standard: "\(DeviceKind.device.rawValue), \(DeviceKind.liveActivity.rawValue) for a channel",
            "The kind of the tokens. All kinds except `device` exist only for APNs."
        ),
        DefinitionKey(
            "permission",
            .words(PermissionFilter.allCases.map(\.rawValue)),
            standard: "any",
            "Only devices with this permission for notifications, or with one of these; `unknown` is that of devices that have said none."
        ),
        DefinitionKey(
            "presents",
            .words(Presentation.allCases.map(\.rawValue)),
            standard: "any",
            "Only devices whose users allow this presentation, or all of these."
        ),
    ]

    /// The filters, which apply to every audience of Fanfare.
    static let filters = ["devices", "provider", "kind", "permission", "presents"]

    /// The keys of `to` in the rule of a campaign, whose query may have stored the audience.
    static let stagedAudience =
        audience + [DefinitionKey(AudienceKey.staged.rawValue, .yes, "The users that the campaign's query returned.")]
}
