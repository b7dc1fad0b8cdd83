/// The shape of a request to `messages:send`; reference: FCM's discovery document and generated typings.
enum FCMSchema {
    static let request: [String: FCMField] = ["validate_only": .bool, "message": .message(message)]

    private static let analytics: FCMField = .message(["analytics_label": .string])

    private static let message: [String: FCMField] = [
        "name": .string,
        "data": .stringMap,
        "notification": .message(["title": .string, "body": .string, "image": .string]),
        "android": .message(android),
        "android_v2": .message(androidV2),
        "webpush": .message(webpush),
        "apns": .message(apns),
        "fcm_options": analytics,
        "token": .string,
        "topic": .string,
        "condition": .string,
        "fid": .string,
    ]

    private static let android: [String: FCMField] = [
        "collapse_key": .string,
        // SDKs send these in lower case.
        "priority": .choice("google.firebase.fcm.v1.AndroidMessagePriority", ["NORMAL", "HIGH", "normal", "high"]),
        "ttl": .duration,
        "restricted_package_name": .string,
        "data": .stringMap,
        "notification": .message(androidNotification),
        "fcm_options": analytics,
        "direct_boot_ok": .bool,
        "bandwidth_constrained_ok": .bool,
        "restricted_satellite_ok": .bool,
    ]

    /// A preview; the fields of `android` without `priority`, and one of two kinds.
    private static let androidV2: [String: FCMField] = [
        "collapse_key": .string, "ttl": .duration, "restricted_package_name": .string, "data": .stringMap,
        "fcm_options": analytics, "direct_boot_ok": .bool, "bandwidth_constrained_ok": .bool,
        "restricted_satellite_ok": .bool,
        "remote_notification": .message([
            "notification": .message(
                shownFields.merging(["id": .integer]) { field, _ in field }
            ),
            "mutable_content": .bool, "use_as_v1_data_message": .bool,
        ]),
        "background_sync": .message([:]),
    ]

    private static let androidNotification = shownFields.merging([
        "proxy": .choice(
            "google.firebase.fcm.v1.AndroidNotification.Proxy",
            ["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"]
        ),
        "bypass_proxy_notification": .bool,
    ]) { field, _ in field }

    private static let shownFields: [String: FCMField] = [
        "title": .string, "body": .string, "icon": .string, "color": .string, "sound": .string, "tag": .string,
        "click_action": .string,
        "title_loc_key": .string, "title_loc_args": .list(.string),
        "body_loc_key": .string, "body_loc_args": .list(.string),
        "channel_id": .string, "ticker": .string, "sticky": .bool, "event_time": .timestamp, "local_only": .bool,
        "notification_priority": .choice(
            "google.firebase.fcm.v1.AndroidNotification.NotificationPriority",
            [
                "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT", "PRIORITY_HIGH",
                "PRIORITY_MAX",
            ]
        ),
        "default_sound": .bool, "default_vibrate_timings": .bool, "default_light_settings": .bool,
        "vibrate_timings": .list(.duration),
        "visibility": .choice(
            "google.firebase.fcm.v1.AndroidNotification.Visibility",
            ["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"]
        ),
        "notification_count": .integer,
        "light_settings": .message([
            "color": .message(["red": .float, "green": .float, "blue": .float, "alpha": .float]),
            "light_on_duration": .duration, "light_off_duration": .duration,
        ]),
        "image": .string,
    ]

    private static let webpush: [String: FCMField] = [
        "headers": .stringMap,
        "data": .stringMap,
        "notification": .object,
        "fcm_options": .message(["link": .string, "analytics_label": .string]),
    ]

    private static let apns: [String: FCMField] = [
        "headers": .stringMap,
        "payload": .object,
        "fcm_options": .message(["image": .string, "analytics_label": .string]),
        "live_activity_token": .string,
    ]
}
