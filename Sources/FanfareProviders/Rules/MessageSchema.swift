internal import FanfareCore

/// The fields of an FCM v1 Message that a rule may set (Firebase REST reference, `projects.messages`).
///
/// Field names are those of the reference, in snake_case. The recipient is not among them: rules select it under `to`.
enum MessageSchema {
    /// The longest `ttl`: four weeks, in seconds.
    static let timeToLiveLimit: Int64 = 2_419_200
    /// The longest `TTL` of a push to a browser: 30 days, in seconds.
    static let webTimeToLiveLimit: Int64 = 2_592_000

    static let message = MessageField.object(fields)
    /// The top-level keys of a message.
    static let keys = fields.map(\.key)

    private static let fields: [(key: String, field: MessageField)] = [
        ("notification", notification), ("data", .textMap()), ("android", android),
        ("android_v2", androidV2), ("apns", apns), ("webpush", webPush), ("fcm_options", labelOnly),
    ]

    private static let notification = MessageField.object([("title", .text), ("body", .text), ("image", .text)])

    private static let labelOnly = MessageField.object([("analytics_label", .form(.label))])

    private static let android = MessageField.object([
        ("collapse_key", .text), ("priority", .form(.word(["NORMAL", "HIGH"]))),
        ("ttl", .form(.duration(atMost: timeToLiveLimit))), ("restricted_package_name", .text), ("data", .textMap()),
        ("notification", androidNotification), ("fcm_options", labelOnly), ("direct_boot_ok", .flag),
        ("bandwidth_constrained_ok", .flag), ("restricted_satellite_ok", .flag),
    ])

    /// A preview (Firebase, "Migrate from FCM HTTP v1 API to AndroidConfigV2").
    private static let androidV2 = MessageField.object([
        ("collapse_key", .text), ("ttl", .form(.duration(atMost: timeToLiveLimit))),
        ("restricted_package_name", .text), ("data", .textMap()), ("fcm_options", labelOnly),
        ("direct_boot_ok", .flag), ("bandwidth_constrained_ok", .flag), ("restricted_satellite_ok", .flag),
        (
            "remote_notification",
            .object([
                (
                    "notification",
                    .object(
                        androidFields + [("id", .number(-2_147_483_648...2_147_483_647, isWhole: true))]
                    )
                ),
                ("mutable_content", .flag), ("use_as_v1_data_message", .flag),
            ])
        ), ("background_sync", .object([])),
    ])

    private static let androidNotification = MessageField.object(
        androidFields + [
            ("proxy", .form(.word(["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"]))),
            ("bypass_proxy_notification", .flag),
        ]
    )

    private static let androidFields: [(key: String, field: MessageField)] = [
        ("title", .text), ("body", .text), ("icon", .text), ("color", .form(.color)), ("sound", .text), ("tag", .text),
        ("click_action", .text), ("title_loc_key", .text), ("title_loc_args", .texts), ("body_loc_key", .text),
        ("body_loc_args", .texts), ("channel_id", .text), ("ticker", .text), ("sticky", .flag), ("event_time", .text),
        ("local_only", .flag),
        (
            "notification_priority",
            .form(
                .word([
                    "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT", "PRIORITY_HIGH",
                    "PRIORITY_MAX",
                ])
            )
        ),
        ("default_sound", .flag), ("default_vibrate_timings", .flag), ("default_light_settings", .flag),
        ("vibrate_timings", .forms(duration)),
        ("visibility", .form(.word(["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"]))),
        ("notification_count", .number(0...2_147_483_647, isWhole: true)), ("light_settings", lightSettings),
        ("image", .text),
    ]

    private static let share = MessageField.number(0...1)

    private static let lightSettings = MessageField.object([
        ("color", .object([("red", share), ("green", share), ("blue", share), ("alpha", share)])),
        ("light_on_duration", .form(duration)), ("light_off_duration", .form(duration)),
    ])

    private static let apns = MessageField.object([
        ("headers", .textMap(forms: [APNsHeaders.expiration: .time])), ("payload", .apnsPayload),
        ("fcm_options", .object([("image", .text), ("analytics_label", .form(.label))])),
        ("live_activity_token", .form(.filled)),
    ])

    private static let webPush = MessageField.object([
        ("headers", .textMap()), ("data", .textMap()), ("notification", webNotification),
        ("fcm_options", .object([("link", .form(.link)), ("analytics_label", .form(.label))])),
        ("declarative", .fixedFlag),
    ])

    /// Browsers support more keys than these, and pass unknown ones to the page.
    private static let webNotification = MessageField.open([
        ("title", .text), ("body", .text), ("icon", .text), ("badge", .text), ("image", .text),
        ("dir", .form(.word(["auto", "ltr", "rtl"]))), ("lang", .text), ("tag", .text),
    ])

    private static let duration = MessageForm.duration(atMost: 999_999_999)
}
