extension DefinitionKey {
    /// The keys of an app's policy.
    static let policy: [DefinitionKey] = [
        DefinitionKey(
            "time_zone",
            .timeZone(or: nil),
            standard: "UTC",
            hint: "use a name such as Europe/Madrid; without one, it is UTC",
            "The time zone of devices that have none."
        ),
        DefinitionKey(
            "quiet_hours",
            .keys(.quietHours),
            hint: #"write {"from": "22:00", "until": "08:00", "mode": "hold"}"#,
            "The local time during which devices get no pushes, for rules without quiet hours of their own."
        ),
        DefinitionKey(
            "caps",
            .named(.cap, limit: 16),
            range: "at most 16, each under a name of 1 to 64 letters, digits, dots, dashes and underscores",
            hint: #"write {"daily": {"max": 3, "per": "1d"}}"#,
            "Limits of the events that a user gets, for rules that name them in `caps`."
        ),
        DefinitionKey(
            "rate",
            .speed,
            "Maximum number of the app's pushes per second, for all daemons together. Without `rate` the app is not throttled."
        ),
        DefinitionKey(
            "providers",
            .providers(.providerPolicy),
            range: "objects under the names of providers",
            hint: #"write {"fcm": {"rate": "500/s"}}"#,
            "Limits of the app's pushes to one provider."
        ),
        report(standard: "false"),
        DefinitionKey(
            "report_devices",
            .boolean,
            standard: "true",
            "Whether it is shown and kept which device reported what. With `false`, only counts are: what devices reported is used for seven days to count each report once, is in no view, and is then deleted. Texts are not stored."
        ),
    ]

    static let cap = [
        DefinitionKey(
            "max",
            .whole(1...100),
            isRequired: true,
            hint: "write how many a user gets at most, such as 3; a user who wants none opts out",
            "The number of events that a user gets at most."
        ),
        DefinitionKey(
            "per",
            .duration(60...2_678_400),
            isRequired: true,
            hint: "write a whole number with s, m, h or d, such as 1d",
            "The time in which they are counted."
        ),
    ]

    static let providerPolicy = [
        DefinitionKey(
            "rate",
            .speed,
            isRequired: true,
            "Maximum number of the app's pushes per second to this provider, for all daemons together."
        )
    ]
}
