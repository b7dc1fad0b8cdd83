internal import FanfareCore
internal import FanfareProviders

extension CampaignDefinition {
    /// The keys of a campaign that a rule does not have, as a Markdown list for the documentation.
    package static var reference: String { described.map(\.reference).joined(separator: "\n") }

    private static let described: [RuleKey] = [
        RuleKey(
            "name",
            "string",
            range: "1 to 100 letters, digits, dots, dashes and underscores",
            isRequired: true,
            "Name of the campaign, unique within the app. A new version replaces the previous one of the same name."
        ),
        RuleKey(
            "app",
            "string",
            range: "1 to 64 letters, digits, dashes and underscores",
            isRequired: true,
            "The app whose devices get the pushes: its name in the configuration."
        ),
        RuleKey(
            "schedule",
            "object",
            "When the campaign is due: exactly one of `cron` and `at`. A campaign without a schedule is started "
                + "manually."
        ),
        RuleKey(
            "schedule.cron",
            "string",
            range:
                "five fields as in crontab(5), names such as mon and jan, or @hourly, @daily, @weekly, @monthly, @yearly",
            "Repeated times, local to `time_zone`."
        ),
        RuleKey(
            "schedule.at",
            "string",
            range: "such as 2026-12-01T09:00",
            "A single time, local to `time_zone`."
        ),
        RuleKey(
            "schedule.time_zone",
            "string",
            range: "a name that PostgreSQL knows, such as Europe/Madrid, or \(CampaignSchedule.recipient)",
            standard: CampaignSchedule.utc,
            "The time zone of `cron` and `at`. With `\(CampaignSchedule.recipient)` they are each recipient's local "
                + "time."
        ),
        RuleKey(
            "schedule.default_time_zone",
            "string",
            range: "a name that PostgreSQL knows",
            standard: "the time_zone of the app's policy, or UTC",
            "The time zone of devices that have none, if `time_zone` is `\(CampaignSchedule.recipient)`."
        ),
        RuleKey(
            "schedule.catch_up",
            "string",
            range: CampaignSchedule.CatchUp.allCases.map(\.rawValue).joined(separator: " | "),
            standard: CampaignSchedule.CatchUp.latest.rawValue,
            "What happens afterwards to times that passed while no daemon ran: all of them fire, the latest fires, "
                + "or none fires."
        ),
        RuleKey(
            "payload",
            "object",
            standard: "{}",
            "Payload of the campaign's events, for templates and jsonpaths, in addition to `campaign` and "
                + "`scheduled_at`."
        ),
        RuleKey(
            "audience_sql",
            "SQL",
            range: "a query of one or two columns, at most \(queryLimit) bytes",
            "The audience, queried when the campaign fires: each row has a user, and optionally a JSON object for "
                + "`{{recipient.…}}` in the message. It replaces the keys of `to` that select users."
        ),
        RuleKey(
            "payload_sql",
            "SQL",
            range: "a query of one column, at most \(queryLimit) bytes",
            "Additional payload of the campaign's events, queried when the campaign fires: each row is a JSON object "
                + "and becomes an event."
        ),
        RuleKey(
            "rate",
            "string or object",
            range: "1/s to 1000000/s",
            "Maximum number of the campaign's pushes per second, for all daemons together. Without `rate` the "
                + "campaign is not throttled."
        ),
        RuleKey(
            "rate.per",
            "string",
            range: "1/s to 1000000/s",
            isRequired: true,
            "The maximum rate, if `rate` is an object."
        ),
        RuleKey(
            "rate.ramp",
            "object",
            "Each run begins at a lower rate, which grows evenly to `rate.per`."
        ),
        RuleKey(
            "rate.ramp.from",
            "string",
            range: "1/s to below `rate.per`",
            isRequired: true,
            "The rate at the beginning of a run."
        ),
        RuleKey(
            "rate.ramp.over",
            "duration",
            isRequired: true,
            "The time until the rate reaches `rate.per`."
        ),
        RuleKey(
            "canary",
            "object",
            "A sample of the audience that gets the push before all others, given by exactly one of `share` and "
                + "`devices`. Each run has a different sample."
        ),
        RuleKey(
            "canary.share",
            "string",
            range: "above 0% to 50%, with at most four decimals",
            "A share of the audience; all devices of a user are in the same group."
        ),
        RuleKey(
            "canary.devices",
            "number",
            range: "1 to 1000000",
            "An approximate number of devices. To choose them, the audience is counted first, in a separate pass."
        ),
        RuleKey(
            "canary.wait",
            "string",
            range: "a duration up to 7d",
            standard: CampaignCanary.standardWait,
            "The time between the first responses and the evaluation of the results. If there are fewer than 100 "
                + "responses by then and more are expected, the results are evaluated later."
        ),
        RuleKey(
            "canary.max_failed",
            "string",
            range: "0% to 100%",
            standard: "2%",
            "The share of responses that may be failures. Unregistered tokens do not count as failures. Above this "
                + "share the campaign is paused."
        ),
        RuleKey(
            "lane",
            "string",
            range: Lane.allCases.map(\.name).joined(separator: " | "),
            standard: Lane.bulk.name,
            "The queue in which the campaign's pushes wait."
        ),
    ]
}
