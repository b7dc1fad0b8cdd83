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
            "Name of the rule, unique within the app. If you apply a rule with the same name, it becomes the new version and replaces the previous one."
        ),
        RuleKey(
            "app",
            "string",
            range: "1 to 64 letters, digits, dashes and underscores",
            isRequired: true,
            "The app whose devices get the pushes: its name in the configuration."
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
            "A predicate on the event's payload: the rule matches only events that satisfy it. Without `when`, all events of the type match."
        ),
        RuleKey(
            "to",
            "object",
            isRequired: true,
            "The audience: exactly one of the nine keys from `users` to `channel`, and optionally the filters `devices`, `provider` and `kind`."
        ),
        RuleKey("message", "object", isRequired: true, "The message: an FCM v1 message without its target."),
        RuleKey(
            "locales",
            "object",
            standard: "{}",
            "The parts of the message that differ by language, under tags such as `es` or `zh-Hant`."
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
            "The time after the event during which its pushes may be sent. Without `ttl`, Fanfare gives up after 24 h."
        ),
        RuleKey(
            "lane",
            "string",
            range: Lane.allCases.map(\.name).joined(separator: " | "),
            standard: Lane.normal.name,
            "The queue in which the rule's pushes wait: `transactional` never waits behind the other lanes, and `bulk` is for broadcasts."
        ),
        RuleKey(
            "supersede",
            "boolean",
            standard: "false, true for `to.kind: live_activity` with `collapse`",
            "Whether a newer event replaces older events of the same audience and collapse id, if no daemon has yet claimed the older events for sending."
        ),
        RuleKey(
            "backlog",
            "string",
            range: BacklogPolicy.allCases.map(\.rawValue).joined(separator: " | "),
            standard: BacklogPolicy.send.rawValue,
            "Which of the events that waited until an outage ended are sent: all (`send`), the latest for each collapse id (`latest_per_collapse`, which needs `collapse`), or none (`drop`)."
        ),
        RuleKey(
            "delivery",
            "string",
            range: DeliveryGuarantee.allCases.map(\.rawValue).joined(separator: " | "),
            standard: DeliveryGuarantee.atLeastOnce.rawValue,
            "Which guarantee each device gets if a daemon crashes."
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
            "What happens to pushes in quiet hours: with `hold` they are sent when quiet hours end, with `drop` they are never sent."
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
            "Variants of `message`. A user always gets the same variant. Not for audiences that a provider manages."
        ),
        RuleKey(
            "holdout",
            "string",
            range: "0%–50%",
            standard: "0%",
            "The share of users who get nothing. These are always the same users. Not for audiences that a provider manages."
        ),
        RuleKey(
            "digest",
            "object",
            range: "not beside `debounce`",
            "Groups events, and sends one push for each group, some time after the group's first event. The message may name `events`, `count` and `since`."
        ),
        RuleKey(
            "debounce",
            "object",
            range: "not beside `digest`",
            "Groups events, and sends one push for each group once no event of the group has arrived for some time. The message may name `events`, `count` and `since`."
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
            "The time from the group's first event to the push."
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
            "The time that must pass after the group's last event before the push is sent."
        ),
        RuleKey(
            "debounce.by",
            "template",
            isRequired: true,
            "A template that groups events: events with the same text form one group."
        ),
        RuleKey(
            "debounce.longest",
            "duration",
            range: "`wait`–24h",
            standard: "24h",
            "The longest time from the group's first event to the push."
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
            "A query that returns the ids of users. It runs for each event, with the event's payload in `$1` (`jsonb`)."
        ),
        RuleKey(
            "to.tokens",
            "jsonpath",
            "Tokens in the payload. A rule with this key needs `to.provider`. Unknown tokens are registered."
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
