internal import FanfareCore

extension MessageSchema {
    /// Every key of a message, in the order of the schema: the allowed values come from the schema, the meanings from
    /// the table below.
    static var described: [KeyDescription] {
        message.fields(at: "message").dropFirst().flatMap { place, field -> [KeyDescription] in
            let meaning = meaning(of: String(place.dropFirst("message.".count)))
            let key = KeyDescription(place, field.typeName, range: field.rangeText, meaning)
            switch place {
            case "message.apns.headers": return [key] + APNsHeaders.described
            case "message.webpush.headers": return [key] + WebPushHeaders.described
            case "message.webpush.declarative": return [key] + DeclarativeMessage.described
            default: return [key]
            }
        }
    }

    /// Returns the meaning of a key; keys of `android_v2` without an own one mean the same as in `android`.
    private static func meaning(of place: String) -> String {
        if let own = meanings[place] { return own }
        let notification = "android_v2.remote_notification.notification."
        if place.hasPrefix(notification) {
            return meanings["android.notification." + place.dropFirst(notification.count)] ?? ""
        }
        return meanings["android." + place.dropFirst("android_v2.".count)] ?? ""
    }

    /// The meaning of each key, by its path in the message.
    static let meanings: [String: String] = [
        "notification":
            "The notification for all providers. Where a provider's own block differs, that block takes precedence.",
        "notification.title": "Title.",
        "notification.body": "Text.",
        "notification.image":
            """
        URL of a picture. On iOS the app's service extension must fetch the picture: Fanfare sets \
        `mutable-content`, and puts the URL into `fcm_options.image`.
        """,
        "data":
            """
        Strings for the app, on all providers. Without `notification`, the push is silent. Keys that FCM \
        reserves (`from`, `message_type`, `google…`, `gcm…`) and `aps` are refused.
        """,
        "android": "Android's own block, sent through FCM.",
        "android.collapse_key":
            """
        Messages with the same key replace each other while the device is offline. By default derived \
        from `collapse`.
        """,
        "android.priority": "`HIGH` wakes a sleeping device, and gives browsers urgency `high`.",
        "android.ttl": "How long FCM keeps the message; by default until the deadline.",
        "android.restricted_package_name": "Only the app with this package name gets the message.",
        "android.data": "Strings that replace `data` on Android.",
        "android.notification": "The notification on Android; each key replaces the same key of `notification`.",
        "android.notification.title": "Title on Android.",
        "android.notification.body": "Text on Android.",
        "android.notification.icon": "Name of a drawable resource of the app.",
        "android.notification.color": "Colour of the icon.",
        "android.notification.sound": "`default`, or the name of a sound resource of the app.",
        "android.notification.tag": "A newer notification with the same tag replaces this one in the drawer.",
        "android.notification.click_action": "Action of the intent that a tap starts.",
        "android.notification.title_loc_key": "Key of the title among the app's string resources.",
        "android.notification.title_loc_args": "Arguments of the title that `title_loc_key` names; needs that key.",
        "android.notification.body_loc_key": "Key of the text among the app's string resources.",
        "android.notification.body_loc_args": "Arguments of the text that `body_loc_key` names; needs that key.",
        "android.notification.channel_id": "Notification channel of the app.",
        "android.notification.ticker": "Text for accessibility services.",
        "android.notification.sticky": "Whether the notification stays when it is tapped.",
        "android.notification.event_time": "The time of the event that the notification is about, in RFC 3339 format.",
        "android.notification.local_only":
            """
        Whether the notification is shown on this device only, not on a paired watch.
        """,
        "android.notification.notification_priority": "How much the notification may disturb the user.",
        "android.notification.default_sound": "Whether the system's sound is played.",
        "android.notification.default_vibrate_timings": "Whether the system's pattern of vibrations is used.",
        "android.notification.default_light_settings": "Whether the system's light is used.",
        "android.notification.vibrate_timings": "Alternating pauses and vibrations, beginning with a pause.",
        "android.notification.visibility": "How much of the notification a locked screen shows.",
        "android.notification.notification_count":
            """
        The number at the app's icon, if the launcher shows one; `badge_sql` replaces it.
        """,
        "android.notification.light_settings": "How the light blinks; needs a colour and both durations.",
        "android.notification.light_settings.color": "Colour of the light.",
        "android.notification.light_settings.color.red": "From 0 to 1.",
        "android.notification.light_settings.color.green": "From 0 to 1.",
        "android.notification.light_settings.color.blue": "From 0 to 1.",
        "android.notification.light_settings.color.alpha": "From 0 to 1.",
        "android.notification.light_settings.light_on_duration": "How long the light is on.",
        "android.notification.light_settings.light_off_duration": "How long the light is off.",
        "android.notification.image": "URL of a picture, in place of `notification.image`.",
        "android.notification.proxy": "Whether the system may show the notification instead of the app.",
        "android.notification.bypass_proxy_notification":
            "Whether the app handles the notification instead of the proxy.",
        "android.fcm_options": "FCM's options for Android.",
        "android.fcm_options.analytics_label": "Label in FCM's statistics, for Android.",
        "android.direct_boot_ok": "Whether the message is delivered before the device is first unlocked after a start.",
        "android.bandwidth_constrained_ok": "Whether the message is delivered over bandwidth-constrained networks.",
        "android.restricted_satellite_ok": "Whether the message is delivered over restricted satellite networks.",
        "android_v2":
            """
        FCM's coming block for Android, a preview, in place of `android`: a message has one of them. It needs exactly one \
        of `remote_notification` and `background_sync`, which tell FCM how urgent the message is.
        """,
        "android_v2.collapse_key":
            """
        Messages with the same key replace each other while the device is offline. By default derived \
        from `collapse`.
        """,
        "android_v2.remote_notification":
            "An urgent message, which also passes the saving of energy. Gives browsers urgency `high`.",
        "android_v2.remote_notification.notification":
            "The notification on Android; each key replaces the same key of `notification`.",
        "android_v2.remote_notification.notification.id":
            "Number of the notification, which a newer one with the same number replaces.",
        "android_v2.remote_notification.mutable_content":
            "Whether the app may change the notification before it is shown.",
        "android_v2.remote_notification.use_as_v1_data_message":
            "Whether apps with an older SDK get the data only, without the notification.",
        "android_v2.background_sync": "`{}`: a message that wakes the app, and may be delayed or joined with others.",
        "apns": "The block for Apple's devices only.",
        "apns.headers": "Headers of APNs. Only the following are allowed; Fanfare sets the others.",
        "apns.payload":
            """
        The key `aps`, and the app's own keys beside it. The payload is merged over the one that Fanfare \
        makes from `notification` and `data` (RFC 7396). Without `notification` and `data`, the payload is sent as it is.
        """,
        "apns.fcm_options": "FCM's options for Apple's devices.",
        "apns.fcm_options.image": "URL of a picture, in place of `notification.image`.",
        "apns.fcm_options.analytics_label": "Label in FCM's statistics, for Apple's devices.",
        "apns.live_activity_token":
            """
        The token of the Live Activity that FCM is to update. Only for devices that are registered with a token of FCM; \
        for tokens of APNs, use `to.kind`.
        """,
        "webpush": "Browsers' own block.",
        "webpush.headers":
            """
        Headers for the push service: the following, and any other headers that the service knows. Headers of the \
        encryption and of the connection are not allowed.
        """,
        "webpush.data": "Strings for the page, merged over those of `data`.",
        "webpush.notification":
            """
        The notification for the page's service worker, merged over `notification`. Keys that are not listed \
        below, such as `actions`, may have any value.
        """,
        "webpush.notification.title": "Title in browsers.",
        "webpush.notification.body": "Text in browsers.",
        "webpush.notification.icon": "URL of an icon.",
        "webpush.notification.badge": "URL of a small icon of one colour.",
        "webpush.notification.image": "URL of a picture.",
        "webpush.notification.dir": "Direction of the text.",
        "webpush.notification.lang": "Language of the text, such as `es-MX`.",
        "webpush.notification.tag": "A newer notification with the same tag replaces this one.",
        "webpush.fcm_options": "FCM's options for browsers; `link` applies to every push service.",
        "webpush.fcm_options.link": "The page that a click opens.",
        "webpush.fcm_options.analytics_label": "Label in FCM's statistics, for browsers.",
        "webpush.declarative":
            """
        Whether the body has the form of Declarative Web Push, which Safari shows without the service worker. The message \
        must then have a title and a link, and each value that Safari reads must be one that Safari accepts. FCM does not \
        get this key.
        """,
        "fcm_options": "FCM's options for all platforms.",
        "fcm_options.analytics_label": "Label in FCM's statistics.",
    ]
}
