public import FanfareCore

extension RuleDefinition {
    /// All keys as a Markdown list, "`key` (type, required/optional, default: x, range): meaning", for the documentation.
    public static var reference: String {
        let keys = described.flatMap { key -> [RuleKey] in
            switch key.path {
            case "to": [key] + AudienceDefinition.described
            case "message": [key] + MessageSchema.described
            case "locales": [key, locale]
            case "variants": [key] + variant
            case "digest": [key] + DigestDefinition.digest
            case "debounce": [key] + DigestDefinition.debounce
            default: [key]
            }
        }
        return keys.map(\.reference).joined(separator: "\n")
    }

    private static let locale = RuleKey(
        "locales.<tag>",
        "object",
        "The parts of `message` that differ for devices of this language. They are merged over `message` (RFC 7396); null removes a key."
    )

    private static let variant = [
        RuleKey(
            "variants[].name",
            "string",
            range: "1 to 64 letters, digits, dots, dashes and underscores, but not `holdout`",
            isRequired: true,
            "Name of the variant, unique within the rule."
        ),
        RuleKey(
            "variants[].weight",
            "number",
            range: "whole, 0–1000000",
            standard: "1",
            "The variant's share of users is its weight divided by the sum of all weights."
        ),
        RuleKey(
            "variants[].message",
            "object",
            standard: "{}",
            "The parts of `message` that differ in this variant. They are merged over `message` (RFC 7396); null removes a key. Locales are merged over the result."
        ),
        RuleKey(
            "variants[].locales",
            "object",
            standard: "{}",
            "The parts of the rule's `locales` that differ in this variant. They are merged over `locales`, and use only tags that the rule has."
        ),
    ]

    /// The top-level keys of a rule, in the order in which they are parsed.
    static let described: [RuleKey] = [
        RuleKey(
            "name",
            "string",
            range: "1 to 100 letters, digits, dots, dashes and underscores",
            isRequired: true,
            "Name of the rule, unique within the app. A new version replaces the previous one of the same name."
        ),
        RuleKey(
            "app",
            "string",
            range: "1 to 64 letters, digits, dashes and underscores",
            isRequired: true,
            "The app whose devices get the pushes, under its name in the configuration."
        ),
        RuleKey(
            "event",
            "string",
            range: "1 to \(RuleNames.eventTypeLimit) bytes on one line",
            isRequired: true,
            "The type of the events that the rule takes."
        ),
        RuleKey(
            "when",
            "jsonpath predicate",
            "A predicate that the event's payload must satisfy. Without `when`, all events of the type match."
        ),
        RuleKey(
            "to",
            "object",
            isRequired: true,
            "The audience: exactly one of the first nine keys, and optional filters."
        ),
        RuleKey("message", "object", isRequired: true, "The message: an FCM v1 message without its target."),
        RuleKey(
            "locales",
            "object",
            standard: "{}",
            "Message parts by language, under tags such as `es` or `zh-Hant`."
        ),
        RuleKey(
            "collapse",
            "template",
            range: "1 to \(CollapseID.limit) bytes of printable ASCII",
            "A newer push with the same id replaces an older one on the device."
        ),
        RuleKey(
            "ttl",
            "duration",
            range: "1s–\(TimeSpan.limit)",
            "How long after the event its pushes may be sent. Without `ttl`, Fanfare gives up after 24 h."
        ),
        RuleKey(
            "lane",
            "string",
            range: Lane.allCases.map(\.name).joined(separator: " | "),
            standard: Lane.normal.name,
            "The queue in which the rule's pushes wait: `transactional` never waits behind the others, `bulk` is for broadcasts."
        ),
        RuleKey(
            "supersede",
            "boolean",
            standard: "false, true for `to.kind: live_activity` with `collapse`",
            "Whether a newer event replaces older events of the same audience and collapse id, if these were not yet claimed for sending."
        ),
        RuleKey(
            "backlog",
            "string",
            range: BacklogPolicy.allCases.map(\.rawValue).joined(separator: " | "),
            standard: BacklogPolicy.send.rawValue,
            "Whether events that waited out an outage are sent; `latest_per_collapse` needs `collapse`."
        ),
        RuleKey(
            "delivery",
            "string",
            range: DeliveryGuarantee.allCases.map(\.rawValue).joined(separator: " | "),
            standard: DeliveryGuarantee.atLeastOnce.rawValue,
            "The guarantee for each device when a daemon crashes."
        ),
        RuleKey("enabled", "boolean", standard: "true", "Whether the rule takes events at all."),
        RuleKey(
            "badge_sql",
            "SQL",
            range: "a query of two columns that uses $1, at most \(sqlLimit) bytes",
            "The query for each user's badge. Not for audiences that a provider manages."
        ),
        RuleKey(
            "category",
            "string",
            range: "1 to 64 letters, digits, dots, dashes and underscores",
            "The subject of the rule's pushes, such as `marketing`. Users who opted out of the category get none of them. Not for audiences that a provider manages."
        ),
        RuleKey(
            "quiet_hours",
            "object or string",
            range: "off, or the three keys below",
            standard: "those of the app's policy (none in the transactional lane)",
            "The local time during which a device gets no pushes. Not for audiences that a provider manages."
        ),
        RuleKey(
            "quiet_hours.from",
            "string",
            range: "00:00 to 23:59",
            isRequired: true,
            "The time at which quiet hours begin."
        ),
        RuleKey(
            "quiet_hours.until",
            "string",
            range: "00:00 to 23:59",
            isRequired: true,
            "The time at which quiet hours end. Quiet hours may cross midnight."
        ),
        RuleKey(
            "quiet_hours.mode",
            "string",
            range: QuietHours.Mode.allCases.map(\.rawValue).joined(separator: " | "),
            standard: QuietHours.Mode.hold.rawValue,
            "What happens to pushes in quiet hours: `hold` sends them when quiet hours end, `drop` never sends them."
        ),
        RuleKey(
            "caps",
            "list of strings",
            range: "names of caps that the app's policy has",
            "The rule's events count towards these caps. A user who has reached one of the caps gets no further event of the rule. Not for audiences that a provider manages."
        ),
        RuleKey(
            "variants",
            "list of objects",
            range: "1 to \(RuleGroups.variantLimit)",
            "Variants of `message`; a user always gets the same one. Not for audiences that a provider manages."
        ),
        RuleKey(
            "holdout",
            "string",
            range: "0%–50%",
            standard: "0%",
            "The share of users who get nothing; they are always the same users. Not for audiences that a provider manages."
        ),
        RuleKey(
            "digest",
            "object",
            range: "not beside `debounce`",
            "Sends one push for all events that a group has gathered since its first event. The message may name `events`, `count` and `since`."
        ),
        RuleKey(
            "debounce",
            "object",
            range: "not beside `digest`",
            "Sends one push for events that follow each other closely, as soon as they pause. The message may name `events`, `count` and `since`."
        ),
    ]
}

extension DigestDefinition {
    /// The keys of `digest`.
    static let digest: [RuleKey] = [
        RuleKey(
            "digest.every",
            "duration",
            range: "1s–24h",
            isRequired: true,
            "How long after the first event the push is sent."
        ),
        RuleKey(
            "digest.by",
            "template",
            isRequired: true,
            "A template that groups events, such as `{{user_id}}`: events with the same text form one group."
        ),
    ]

    /// The keys of `debounce`.
    static let debounce: [RuleKey] = [
        RuleKey(
            "debounce.wait",
            "duration",
            range: "1s–24h",
            isRequired: true,
            "How long after the last event the push is sent."
        ),
        RuleKey("debounce.by", "template", isRequired: true, "A template that groups events, as in `digest.by`."),
        RuleKey(
            "debounce.longest",
            "duration",
            range: "`wait`–24h",
            standard: "24h",
            "How long after the first event the push is sent at the latest."
        ),
    ]
}

extension AudienceDefinition {
    /// The keys of `to`: those that select the audience, then the filters.
    static let described: [RuleKey] = [
        RuleKey("to.users", "jsonpath", "The ids of users in the payload, one or many."),
        RuleKey(
            "to.users_sql",
            "SQL",
            range: "a query of one column, at most \(RuleDefinition.sqlLimit) bytes",
            "The ids of users, queried for each event with its payload in `$1` (`jsonb`)."
        ),
        RuleKey(
            "to.tokens",
            "jsonpath",
            "Tokens in the payload. The rule then needs `to.provider`. Unknown tokens are registered."
        ),
        RuleKey(
            "to.topic",
            "template",
            range: "1 to \(TopicName.lengthLimit) of a-z A-Z 0-9 - _ . ~ %",
            "The devices that subscribed to a topic."
        ),
        RuleKey(
            "to.condition",
            "template",
            range: "at most \(TopicClause.topicLimit) topics",
            "The devices whose topics satisfy a condition, such as `'news' in topics && !('muted' in topics)`."
        ),
        RuleKey("to.everyone", "boolean", range: "true", "All devices of the app."),
        RuleKey(
            "to.fcm_topic",
            "template",
            "One of FCM's own topics, reached by a single request: FCM stores the subscribers."
        ),
        RuleKey(
            "to.fcm_condition",
            "template",
            range: "at most \(NativeAudience.topicLimit) topics",
            "A condition on FCM's own topics, reached by a single request."
        ),
        RuleKey(
            "to.channel",
            "template",
            "The id of an APNs broadcast channel for Live Activities, reached by a single request."
        ),
        RuleKey("to.devices", "jsonpath predicate", "Only devices whose attributes satisfy the predicate."),
        RuleKey(
            "to.provider",
            "string",
            range: "a provider's name, such as \(Providers.names[0].rawValue)",
            standard: "all providers for which the message has content",
            "Only devices of this provider."
        ),
        RuleKey(
            "to.kind",
            "string",
            range: DeviceKind.allCases.map(\.rawValue).joined(separator: " | "),
            standard: "\(DeviceKind.device.rawValue), \(DeviceKind.liveActivity.rawValue) for a channel",
            "The kind of the tokens. All kinds except `device` exist only for APNs."
        ),
    ]
}
