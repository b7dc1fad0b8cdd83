internal import FanfareCore
internal import FanfareProviders

extension CampaignDefinition {
    /// The keys that a campaign has beside those of its rule, as a Markdown list for the documentation.
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
            "When it is due: exactly one of the first two keys. Without it, it is started by hand."
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
            "Whose clocks; with `\(CampaignSchedule.recipient)` those where each device is."
        ),
        RuleKey(
            "schedule.default_time_zone",
            "string",
            range: "a name that PostgreSQL knows",
            standard: CampaignSchedule.utc,
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
            "rate",
            "string",
            range: "1/s to 1000000/s",
            "How many pushes a second all daemons together send of it at most; without it as fast as can be."
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
