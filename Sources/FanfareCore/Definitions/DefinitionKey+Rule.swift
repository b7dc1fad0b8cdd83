extension DefinitionKey {
    /// The keys of a rule, in the order in which they are checked.
    static let rule: [DefinitionKey] = [
        DefinitionKey(
            "name",
            .ruleName,
            isRequired: true,
            "Name of the rule, unique within the app. If you apply a rule with the same name, it becomes the new version and replaces the previous one."
        ),
        DefinitionKey(
            "app",
            .appName,
            isRequired: true,
            "The app whose devices get the pushes: its name in the configuration."
        ),
        DefinitionKey("event", .eventType, isRequired: true, "The type of the events that the rule takes."),
        DefinitionKey(
            "when",
            .predicate,
            "A predicate on the event's payload: the rule matches only events that satisfy it. Without `when`, all events of the type match."
        ),
        DefinitionKey(
            "to",
            .keys(.audience),
            isRequired: true,
            hint: #"say which devices the rule reaches, as in {"users": "$.customer_id"}"#,
            "The audience: exactly one of the nine keys from `users` to `channel`, and optionally the filters `devices`, `provider`, `kind`, `permission` and `presents`."
        ),
        DefinitionKey(
            "message",
            .object,
            isRequired: true,
            hint: #"say what to send, as in {"notification": {"title": "Hello"}}"#,
            "The message: an FCM v1 message without its target."
        ),
        DefinitionKey(
            "locales",
            .object,
            standard: "{}",
            hint: #"write the parts that differ, as in {"es": {"notification": {"title": "Hola"}}}"#,
            "The parts of the message that differ by language, under tags such as `es` or `zh-Hant`."
        ),
        DefinitionKey(
            "collapse",
            .template,
            range: "1 to \(RuleDefinition.collapseLimit) bytes of printable ASCII",
            "A newer push with the same id replaces an older one on the device."
        ),
        DefinitionKey(
            "ttl",
            .duration(DefinitionForm.anyDuration),
            "The time after the event during which its pushes may be sent. Without `ttl`, Fanfare gives up after 24 h."
        ),
        DefinitionKey(
            "lane",
            .word(Lane.allCases.map(\.name)),
            standard: Lane.normal.name,
            "The queue in which the rule's pushes wait: `transactional` never waits behind the other lanes, and `bulk` is for broadcasts."
        ),
        DefinitionKey(
            "supersede",
            .boolean,
            standard: "false, true for `to.kind: live_activity` with `collapse`",
            "Whether a newer event replaces older events of the same audience and collapse id, if no daemon has yet claimed the older events for sending."
        ),
        DefinitionKey(
            "backlog",
            .word(BacklogPolicy.allCases.map(\.rawValue)),
            standard: BacklogPolicy.send.rawValue,
            "Which of the events that waited until an outage ended are sent: all (`send`), the latest for each collapse id (`latest_per_collapse`, which needs `collapse`), or none (`drop`)."
        ),
        DefinitionKey(
            "delivery",
            .word(DeliveryGuarantee.allCases.map(\.rawValue)),
            standard: DeliveryGuarantee.atLeastOnce.rawValue,
            "Which guarantee each device gets if a daemon crashes."
        ),
        DefinitionKey("enabled", .boolean, standard: "true", "Whether the rule takes events at all."),
        DefinitionKey(
            "badge_sql",
            .sql,
            range: "a query of two columns that uses $1, at most \(RuleDefinition.sqlLimit) bytes",
            "The query for each user's badge. Not for audiences that a provider manages."
        ),
        DefinitionKey(
            "category",
            .label,
            reason: "cannot be a category",
            "The subject of the rule's pushes, such as `marketing`. Users who opted out of the category get none of them. Not for audiences that a provider manages."
        ),
        DefinitionKey(
            "quiet_hours",
            .keysOr(.quietHours, .word(["off"])),
            range: "off, or the three keys below",
            standard: "those of the app's policy (none in the transactional lane)",
            reason: "is neither off nor an object",
            hint: #"write {"from": "22:00", "until": "08:00", "mode": "hold"}, or off for none"#,
            "The local time during which a device gets no pushes. Not for audiences that a provider manages."
        ),
        DefinitionKey(
            "caps",
            .names,
            range: "names of caps that the app's policy has",
            hint: #"name caps of the app's policy, as in ["daily"]"#,
            "The rule's events count towards these caps. A user who has reached one of the caps gets no further event of the rule. Not for audiences that a provider manages."
        ),
        DefinitionKey(
            "variants",
            .list(.variant, limit: Int64(RuleGroups.variantLimit)),
            hint: #"write [{"name": "short", "weight": 20, "message": {…}}, {"name": "plain", "weight": 80}]"#,
            "Variants of `message`. A user always gets the same variant. Not for audiences that a provider manages."
        ),
        DefinitionKey(
            "holdout",
            .share(0...500_000),
            standard: "0%",
            "The share of users who get nothing. These are always the same users. Not for audiences that a provider manages."
        ),
        DefinitionKey(
            "digest",
            .keys(.digest),
            range: "not beside `debounce`",
            hint: #"write {"every": "10m", "by": "{{user_id}}"}"#,
            "Groups events, and sends one push for each group, some time after the group's first event. The message may name `events`, `count` and `since`."
        ),
        DefinitionKey(
            "debounce",
            .keys(.debounce),
            range: "not beside `digest`",
            hint: #"write {"wait": "30s", "by": "{{user_id}}"}"#,
            "Groups events, and sends one push for each group once no event of the group has arrived for some time. The message may name `events`, `count` and `since`."
        ),
        DefinitionKey(
            "retract_on",
            .keys(.retractOn),
            range: "beside `collapse`; not beside `digest` and `debounce`",
            hint: #"write {"event": "message.read", "by": "{{room}}", "user": "{{user_id}}"}"#,
            "The events that take the rule's pushes back: what waits is not sent, and devices that accepted it remove the notification. Not for audiences that a provider manages, and not for campaigns."
        ),
        report(standard: "that of the app's policy"),
        DefinitionKey(
            "as_event",
            .eventType,
            range: "beside `report: true`; not a type that Fanfare reserves",
            "The type of the event that is emitted when a user chooses an action of the notification, or types a reply. Its payload has `user_id`, `device_id`, `action`, the push's `event_id`, `event_type` and `event_key`, and `text` with `report_text`."
        ),
        DefinitionKey(
            "report_text",
            .boolean,
            standard: "false",
            "Whether the text of a reply is stored, and is part of the event of `as_event`. Needs `report: true`."
        ),
        DefinitionKey(
            "conversion",
            .keys(.conversion),
            range: "beside `report: true` or `holdout`",
            hint: #"write {"event": "order.paid", "user": "$.new.customer_id", "within": "24h"}"#,
            "What the pushes should lead to: an event of the same user within some time, which is counted by variant and compared with the holdout."
        ),
        DefinitionKey(
            "conversion_sql",
            .sql,
            range:
                "a query of two or three columns that uses $1, at most \(RuleDefinition.sqlLimit) bytes; beside `report: true` or `holdout`",
            "Finds conversions in your tables instead of by events: a query for users, times and optionally numbers, of which `$1` is the earliest time."
        ),
    ]

    /// Whether pushes have a handle, for a rule or for an app's policy.
    static func report(standard: String) -> DefinitionKey {
        DefinitionKey(
            "report",
            .boolean,
            standard: standard,
            "Whether pushes have a handle, with which devices report that a notification was received, shown, opened, acted on or dismissed. Not for audiences that a provider manages."
        )
    }

    /// The keys of the rule of a campaign or of a message, which has a name that no author may give.
    static let madeRule = rule.map { key in
        switch key.name {
        case "name": key.with(.string)
        case "to": key.with(.keys(.stagedAudience))
        default: key
        }
    }

    static let quietHours = [
        DefinitionKey("from", .timeOfDay, isRequired: true, "The time at which quiet hours begin."),
        DefinitionKey(
            "until",
            .timeOfDay,
            isRequired: true,
            "The time at which quiet hours end. Quiet hours may cross midnight."
        ),
        DefinitionKey(
            "mode",
            .word(QuietHours.Mode.allCases.map(\.rawValue)),
            standard: QuietHours.Mode.hold.rawValue,
            reason: "is neither hold nor drop",
            hint: "hold sends pushes when quiet hours end, drop never sends them",
            "What happens to pushes in quiet hours: with `hold` they are sent when quiet hours end, with `drop` they are never sent."
        ),
    ]

    static let variant = [
        DefinitionKey(
            "name",
            .label,
            range: "1 to 64 letters, digits, dots, dashes and underscores, but not `\(RuleGroups.holdoutName)`",
            isRequired: true,
            hint: RuleNames.labelHint + "; \(RuleGroups.holdoutName) is reserved for the control group",
            "Name of the variant, unique within the rule."
        ),
        DefinitionKey(
            "weight",
            .whole(0...1_000_000),
            standard: "1",
            hint: "write which share of all weights together it gets, such as 20",
            "The variant's share of users is its weight divided by the sum of all weights."
        ),
        DefinitionKey(
            "message",
            .object,
            standard: "{}",
            hint: "write what is different in it",
            "The parts of `message` that differ in this variant. They are merged over `message` (RFC 7396); null removes a key. Locales are merged over the result."
        ),
        DefinitionKey(
            "locales",
            .object,
            standard: "{}",
            hint: "write what is different in it",
            "The parts of the rule's `locales` that differ in this variant. They are merged over `locales`, and use only tags that the rule has."
        ),
    ]

    static let digest = [
        DefinitionKey(
            "every",
            .duration(1...86_400),
            isRequired: true,
            hint: digestTimeHint,
            "The time from the group's first event to the push."
        ),
        DefinitionKey(
            "by",
            .filledTemplate,
            isRequired: true,
            hint: digestKeyHint,
            "A template that groups events, such as `{{user_id}}`: events with the same text form one group."
        ),
    ]

    static let debounce = [
        DefinitionKey(
            "wait",
            .duration(1...86_400),
            isRequired: true,
            hint: digestTimeHint,
            "The time that must pass after the group's last event before the push is sent."
        ),
        DefinitionKey(
            "by",
            .filledTemplate,
            isRequired: true,
            hint: digestKeyHint,
            "A template that groups events: events with the same text form one group."
        ),
        DefinitionKey(
            "longest",
            .duration(1...86_400),
            range: "`wait`–24h",
            standard: "24h",
            hint: digestTimeHint,
            "The longest time from the group's first event to the push."
        ),
    ]

    private static let digestTimeHint = "write a whole number with s, m or h, such as 30s, 10m or 24h"
    private static let digestKeyHint = #"say which events belong together, as in "{{user_id}}""#
}
