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
        "What of `message` is different for devices of this language, merged over it (RFC 7396); null removes."
    )

    private static let variant = [
        RuleKey(
            "variants[].name",
            "string",
            range: "1 to 64 letters, digits, dots, dashes and underscores, but for `holdout`",
            isRequired: true,
            "What the variant is called, unique within the rule."
        ),
        RuleKey(
            "variants[].weight",
            "number",
            range: "whole, 0–1000000",
            standard: "1",
            "Its part of all weights together: so many people get it."
        ),
        RuleKey(
            "variants[].message",
            "object",
            standard: "{}",
            "What of `message` is different in it, merged over it (RFC 7396); null removes. Locales are merged over that."
        ),
        RuleKey(
            "variants[].locales",
            "object",
            standard: "{}",
            "What of `locales` is different in it, merged over these, by tags that are there."
        ),
    ]

    /// The keys of a rule itself, in the order in which they are read.
    static let described: [RuleKey] = [
        RuleKey(
            "name",
            "string",
            range: "1 to 100 letters, digits, dots, dashes and underscores",
            isRequired: true,
            "Name of the rule, unique within the app; by it a newer version takes an older one's place."
        ),
        RuleKey(
            "app",
            "string",
            range: "1 to 64 letters, digits, dashes and underscores",
            isRequired: true,
            "The app whose devices it reaches, as the configuration calls it."
        ),
        RuleKey(
            "event",
            "string",
            range: "1 to \(RuleNames.eventTypeLimit) bytes on one line",
            isRequired: true,
            "The type of the events that it takes."
        ),
        RuleKey("when", "jsonpath predicate", "Which of these events, by their payload; all unless given."),
        RuleKey("to", "object", isRequired: true, "The audience: exactly one of the first nine keys, and filters."),
        RuleKey("message", "object", isRequired: true, "The message: an FCM v1 message without its target."),
        RuleKey("locales", "object", standard: "{}", "What differs by language: tags such as `es` or `zh-Hant`."),
        RuleKey(
            "collapse",
            "template",
            range: "1 to \(CollapseID.limit) bytes of printable ASCII",
            "A newer push with the same id takes the place of an older one on the device."
        ),
        RuleKey(
            "ttl",
            "duration",
            range: "1s–\(TimeSpan.limit)",
            "How long after the event it may still be sent; Fanfare gives up after 24 h where it is left out."
        ),
        RuleKey(
            "lane",
            "string",
            range: Lane.allCases.map(\.name).joined(separator: " | "),
            standard: Lane.normal.name,
            "Which queue its pushes wait in: `transactional` never waits behind the others, `bulk` is for broadcasts."
        ),
        RuleKey(
            "supersede",
            "boolean",
            standard: "false, true for `to.kind: live_activity` with `collapse`",
            "Whether a newer event drops older ones of the same audience and collapse id that were not yet taken for sending."
        ),
        RuleKey(
            "backlog",
            "string",
            range: BacklogPolicy.allCases.map(\.rawValue).joined(separator: " | "),
            standard: BacklogPolicy.send.rawValue,
            "What becomes of events that waited out an outage; `latest_per_collapse` needs `collapse`."
        ),
        RuleKey(
            "delivery",
            "string",
            range: DeliveryGuarantee.allCases.map(\.rawValue).joined(separator: " | "),
            standard: DeliveryGuarantee.atLeastOnce.rawValue,
            "What is promised of each device while daemons crash."
        ),
        RuleKey("enabled", "boolean", standard: "true", "Whether it takes events at all."),
        RuleKey(
            "badge_sql",
            "SQL",
            range: "a query of two columns that asks for $1, at most \(sqlLimit) bytes",
            "What the badge of each user is. Not for audiences that a provider manages."
        ),
        RuleKey(
            "category",
            "string",
            range: "1 to 64 letters, digits, dots, dashes and underscores",
            "What its pushes are about, such as `marketing`: users who opted out of that get none. Not for audiences that a provider manages."
        ),
        RuleKey(
            "quiet_hours",
            "object or string",
            range: "off, or the three keys below",
            standard: "those of the app's policy, in the transactional lane off",
            "When devices are not disturbed, by the clock where each is. Not for audiences that a provider manages."
        ),
        RuleKey("quiet_hours.from", "string", range: "00:00 to 23:59", isRequired: true, "When they begin."),
        RuleKey(
            "quiet_hours.until",
            "string",
            range: "00:00 to 23:59",
            isRequired: true,
            "When they are over; they may pass midnight."
        ),
        RuleKey(
            "quiet_hours.mode",
            "string",
            range: QuietHours.Mode.allCases.map(\.rawValue).joined(separator: " | "),
            standard: QuietHours.Mode.hold.rawValue,
            "What becomes of what comes in them: sent when they are over, or not at all."
        ),
        RuleKey(
            "caps",
            "list of strings",
            range: "names of caps that the app's policy has",
            "Its events count for these, and none is sent to a user who has reached one. Not for audiences that a provider manages."
        ),
        RuleKey(
            "variants",
            "list of objects",
            range: "1 to \(RuleGroups.variantLimit)",
            "Variants of `message`, of which each user gets always the same one. Not for audiences that a provider manages."
        ),
        RuleKey(
            "holdout",
            "string",
            range: "0%–50%",
            standard: "0%",
            "The share of users who get nothing, always the same ones. Not for audiences that a provider manages."
        ),
        RuleKey(
            "digest",
            "object",
            range: "not beside `debounce`",
            "Makes one push of many events: what came since the first of those that belong together. Its message may name `events`, `count` and `since`."
        ),
        RuleKey(
            "debounce",
            "object",
            range: "not beside `digest`",
            "Makes one push of events that follow each other closely, once they have paused. Its message may name what that of a `digest` may."
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
            "How long after the first event the push leaves."
        ),
        RuleKey(
            "digest.by",
            "template",
            isRequired: true,
            "Which events belong together: those that give the same text, such as `{{user_id}}`."
        ),
    ]

    /// The keys of `debounce`.
    static let debounce: [RuleKey] = [
        RuleKey(
            "debounce.wait",
            "duration",
            range: "1s–24h",
            isRequired: true,
            "How long after the last event the push leaves."
        ),
        RuleKey("debounce.by", "template", isRequired: true, "Which events belong together, as in `digest.by`."),
        RuleKey(
            "debounce.longest",
            "duration",
            range: "`wait`–24h",
            standard: "24h",
            "How long after the first event it leaves at the latest."
        ),
    ]
}

extension AudienceDefinition {
    /// The keys of `to`: those that say who, then filters.
    static let described: [RuleKey] = [
        RuleKey("to.users", "jsonpath", "The ids of users in the payload, one or many."),
        RuleKey(
            "to.users_sql",
            "SQL",
            range: "a query of one column, at most \(RuleDefinition.sqlLimit) bytes",
            "The ids of users, asked for each event with its payload in `$1` (`jsonb`)."
        ),
        RuleKey(
            "to.tokens",
            "jsonpath",
            "Tokens in the payload, which need `provider`; those not yet known are registered."
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
            "The devices whose topics meet a condition, such as `'news' in topics && !('muted' in topics)`."
        ),
        RuleKey("to.everyone", "boolean", range: "true", "All devices of the app."),
        RuleKey("to.fcm_topic", "template", "One of FCM's own topics, by one request: FCM stores the subscribers."),
        RuleKey(
            "to.fcm_condition",
            "template",
            range: "at most \(NativeAudience.topicLimit) topics",
            "A condition on FCM's own topics, by one request."
        ),
        RuleKey("to.channel", "template", "The id of an APNs broadcast channel, by one request, for Live Activities."),
        RuleKey("to.devices", "jsonpath predicate", "Only devices whose attributes meet it."),
        RuleKey(
            "to.provider",
            "string",
            range: "a provider's name, such as \(Providers.names[0].rawValue)",
            standard: "all that the message has something for",
            "Only devices of this provider."
        ),
        RuleKey(
            "to.kind",
            "string",
            range: DeviceKind.allCases.map(\.rawValue).joined(separator: " | "),
            standard: "\(DeviceKind.device.rawValue), \(DeviceKind.liveActivity.rawValue) for a channel",
            "Which kind of tokens; all but the first are of APNs."
        ),
    ]
}
