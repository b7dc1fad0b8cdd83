internal import FanfareCore

extension DeclarativeMessage {
    /// The keys of `webpush.notification` that the form gives a meaning to.
    static let described: [KeyDescription] = [
        key("navigate", "string", "https://… | http://…", "`webpush.fcm_options.link`", "the page that a click opens."),
        key("silent", "boolean", nil, nil, "whether the notification makes no sound."),
        key("requireInteraction", "boolean", nil, nil, "whether the notification stays until the user reacts."),
        key(
            "actions",
            "list of objects",
            "each with `action`, `title` and an absolute URL `navigate`",
            nil,
            "buttons; a click on one opens its own page."
        ),
        key(
            "app_badge",
            "number",
            "from 0 on",
            nil,
            "the number at the app's icon, 0 to remove it; `badge_sql` replaces it. Sent as text in `notification`, and as "
                + "a number beside it."
        ),
        key(
            "mutable",
            "boolean",
            nil,
            nil,
            "whether the service worker may replace the notification before it is shown, which delays it. Sent in "
                + "`notification` and beside it."
        ),
        key("data", "any", nil, "a copy of `data`", "data for the service worker."),
    ]

    private static func key(
        _ name: String,
        _ type: String,
        _ range: String?,
        _ standard: String?,
        _ meaning: String
    ) -> KeyDescription {
        KeyDescription(
            "message.webpush.notification.\(name)",
            type,
            range: range,
            standard: standard,
            "With `declarative`: \(meaning)"
        )
    }
}
