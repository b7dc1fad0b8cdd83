extension DefinitionKey {
    /// The keys of a campaign: its own, then those of its rule.
    static let campaign: [DefinitionKey] =
        [
            DefinitionKey(
                "name",
                .ruleName,
                isRequired: true,
                "Name of the campaign, unique within the app. A new version replaces the previous one of the same name."
            ),
            DefinitionKey(
                "app",
                .appName,
                isRequired: true,
                "The app whose devices get the pushes: its name in the configuration."
            ),
            DefinitionKey(
                "schedule",
                .keys(.schedule),
                hint: #"write {"cron": "0 9 * * mon", "time_zone": "Europe/Madrid"}"#,
                "When the campaign is due: exactly one of `cron` and `at`. A campaign without a schedule is started manually."
            ),
            DefinitionKey(
                "payload",
                .object,
                standard: "{}",
                hint: #"write {"sale": "winter"}"#,
                "Payload of the campaign's events, for templates and jsonpaths, in addition to `campaign` and `scheduled_at`."
            ),
            DefinitionKey(
                "audience_sql",
                .sql,
                range: "a query of one or two columns, at most \(RuleDefinition.sqlLimit) bytes",
                hint: "write a query",
                "The audience, queried when the campaign fires: each row has a user, and optionally a JSON object for `{{recipient.…}}` in the message. It replaces the keys of `to` that select users."
            ),
            DefinitionKey(
                "payload_sql",
                .sql,
                range: "a query of one column, at most \(RuleDefinition.sqlLimit) bytes",
                hint: "write a query",
                "Additional payload of the campaign's events, queried when the campaign fires: each row is a JSON object and becomes an event."
            ),
            DefinitionKey(
                "rate",
                .keysOr(.rate, .speed),
                range: "1/s to 1000000/s",
                "Maximum number of the campaign's pushes per second, for all daemons together. Without `rate` the campaign is not throttled."
            ),
            DefinitionKey(
                "canary",
                .keys(.canary),
                hint: #"write {"share": "1%", "wait": "10m", "max_failed": "2%"}"#,
                "A sample of the audience that gets the push before all others, given by exactly one of `share` and `devices`. Each run has a different sample."
            ),
            DefinitionKey(
                "experiment",
                .keys(.experiment),
                range: "beside `variants`; not beside `canary`",
                hint: #"write {"share": "20%", "wait": "2h", "by": "opened"}"#,
                "Sends the variants to a sample of the audience, and the variant that does best to the others. Each run has a different sample."
            ),
            DefinitionKey(
                "lane",
                .word(Lane.allCases.map(\.name)),
                standard: Lane.bulk.name,
                "The queue in which the campaign's pushes wait."
            ),
        ] + ofItsRule

    /// The names of the keys that a campaign has only for its rule.
    package static let namesOfItsRule = [
        "to", "message", "locales", "collapse", "ttl", "delivery", "badge_sql", "category", "quiet_hours", "caps",
        "variants", "holdout", "report", "as_event", "report_text", "conversion", "conversion_sql",
    ]

    /// `to` is optional, because `audience_sql` may replace it.
    private static let ofItsRule = namesOfItsRule.compactMap { name in
        rule.first { $0.name == name }.map { name == "to" ? $0.optional : $0 }
    }

    static let schedule = [
        DefinitionKey(
            "cron",
            .string,
            range:
                "five fields as in crontab(5), names such as mon and jan, or @hourly, @daily, @weekly, @monthly, @yearly",
            "Repeated times, local to `time_zone`."
        ),
        DefinitionKey("at", .wallTime, "A single time, local to `time_zone`."),
        DefinitionKey(
            "time_zone",
            .timeZone(or: recipient),
            standard: "UTC",
            hint: "use a name such as Europe/Madrid, or \(recipient) for each device's own; without one, it is UTC",
            "The time zone of `cron` and `at`. With `\(recipient)` they are each recipient's local time."
        ),
        DefinitionKey(
            "default_time_zone",
            .timeZone(or: nil),
            standard: "the time_zone of the app's policy, or UTC",
            hint: "name the zone of devices that have none, such as Europe/Madrid; without one, it is UTC",
            "The time zone of devices that have none, if `time_zone` is `\(recipient)`."
        ),
        DefinitionKey(
            "catch_up",
            .word(["all", "latest", "none"]),
            standard: "latest",
            "What happens afterwards to times that passed while no daemon ran: all of them fire, the latest fires, or none fires."
        ),
    ]

    private static let recipient = "recipient"

    static let rate = [
        DefinitionKey("per", .speed, isRequired: true, "The maximum rate, if `rate` is an object."),
        DefinitionKey(
            "ramp",
            .keys(.ramp),
            hint: #"write {"from": "50/s", "over": "30m"}"#,
            "Each run begins at a lower rate, which grows evenly to `rate.per`."
        ),
    ]

    static let ramp = [
        DefinitionKey(
            "from",
            .speed,
            range: "1/s to below `rate.per`",
            isRequired: true,
            "The rate at the beginning of a run."
        ),
        DefinitionKey(
            "over",
            .duration(DefinitionForm.anyDuration),
            isRequired: true,
            "The time until the rate reaches `rate.per`."
        ),
    ]

    static let canary = [
        DefinitionKey(
            "share",
            .share(1...500_000),
            range: "above 0% to 50%, with at most four decimals",
            hint: "write a share such as 1% or 0.5%",
            "A share of the audience; all devices of a user are in the same group."
        ),
        DefinitionKey(
            "devices",
            .whole(1...1_000_000),
            hint: "write about how many devices go first, such as 500",
            "An approximate number of devices. To choose them, the audience is counted first, in a separate pass."
        ),
        DefinitionKey(
            "wait",
            .duration(1...604_800),
            standard: "10m",
            hint: "write a whole number with s, m, h or d, such as 10m",
            "The time between the first responses and the evaluation of the results. If there are fewer than 100 responses by then and more are expected, the results are evaluated later."
        ),
        DefinitionKey(
            "max_failed",
            .share(0...1_000_000),
            standard: "2%",
            hint: "write a share such as 2% or 0.5%",
            "The share of responses that may be failures. Unregistered tokens do not count as failures. Above this share the campaign is paused."
        ),
    ]
}
