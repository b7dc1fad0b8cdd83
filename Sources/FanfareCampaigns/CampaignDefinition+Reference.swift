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
            "Name of the campaign, unique within the app; by it a newer version takes an older one's place."
        ),
        RuleKey(
            "app",
            "string",
            range: "1 to 64 letters, digits, dashes and underscores",
            isRequired: true,
            "The app whose devices it reaches, as the configuration calls it."
        ),
        RuleKey(
            "schedule",
            "object",
            "When it is due: exactly one of the first two keys. Without it, it is started manually."
        ),
        RuleKey(
            "schedule.cron",
            "string",
            range:
                "five fields as in crontab(5), names such as mon and jan, or @hourly, @daily, @weekly, @monthly, @yearly",
            "Again and again, by clocks in `time_zone`."
        ),
        RuleKey(
            "schedule.at",
            "string",
            range: "such as 2026-12-01T09:00",
            "Once, when clocks in `time_zone` show it."
        ),
        RuleKey(
            "schedule.time_zone",
            "string",
            range: "a name that PostgreSQL knows, such as Europe/Madrid, or \(CampaignSchedule.recipient)",
            standard: CampaignSchedule.utc,
            "The time zone of its times; with `\(CampaignSchedule.recipient)` the recipient's local time."
        ),
        RuleKey(
            "schedule.default_time_zone",
            "string",
            range: "a name that PostgreSQL knows",
            standard: "the time_zone of the app's policy, or UTC",
            "Whose clocks for devices that have no time zone, where `time_zone` is `\(CampaignSchedule.recipient)`."
        ),
        RuleKey(
            "schedule.catch_up",
            "string",
            range: CampaignSchedule.CatchUp.allCases.map(\.rawValue).joined(separator: " | "),
            standard: CampaignSchedule.CatchUp.latest.rawValue,
            "What becomes of times that passed while no daemon ran."
        ),
        RuleKey(
            "payload",
            "object",
            standard: "{}",
            "What its events carry for templates and jsonpaths, beside `campaign` and `scheduled_at`."
        ),
        RuleKey(
            "audience_sql",
            "SQL",
            range: "a query of one or two columns, at most \(queryLimit) bytes",
            "The audience, read when it runs: a user in each row, and a JSON object that the message may name as "
                + "`{{recipient.…}}`. In place of those keys of `to` that say who."
        ),
        RuleKey(
            "payload_sql",
            "SQL",
            range: "a query of one column, at most \(queryLimit) bytes",
            "What its events carry besides, read when it fires: each row is a JSON object, and becomes an event."
        ),
        RuleKey(
            "rate",
            "string or object",
            range: "1/s to 1000000/s",
            "How many pushes a second all daemons together send of it at most; without it unthrottled."
        ),
        RuleKey(
            "rate.per",
            "string",
            range: "1/s to 1000000/s",
            isRequired: true,
            "The same, where `rate` is an object."
        ),
        RuleKey(
            "rate.ramp",
            "object",
            "With it each run begins slower, and grows evenly to `rate.per`."
        ),
        RuleKey(
            "rate.ramp.from",
            "string",
            range: "1/s to below `rate.per`",
            isRequired: true,
            "What it begins with."
        ),
        RuleKey(
            "rate.ramp.over",
            "duration",
            isRequired: true,
            "How long it takes to grow."
        ),
        RuleKey(
            "canary",
            "object",
            "The canary, sent before all others: exactly one of the first two keys. The sample is another one each time."
        ),
        RuleKey(
            "canary.share",
            "string",
            range: "above 0% to 50%, with at most four decimals",
            "A share of the audience; all devices of a user are on one side."
        ),
        RuleKey(
            "canary.devices",
            "number",
            range: "1 to 1000000",
            "About so many devices; the audience is counted first, in a walk of its own."
        ),
        RuleKey(
            "canary.wait",
            "string",
            range: "a duration up to 7d",
            standard: CampaignCanary.standardWait,
            "How long after the first answers these are evaluated; longer, until there are 100 or all have answered."
        ),
        RuleKey(
            "canary.max_failed",
            "string",
            range: "0% to 100%",
            standard: "2%",
            "Which share of the answers may be failures, tokens that are gone not counted. Above it the campaign is paused."
        ),
        RuleKey(
            "lane",
            "string",
            range: Lane.allCases.map(\.name).joined(separator: " | "),
            standard: Lane.bulk.name,
            "Which queue its pushes wait in."
        ),
    ]
}
