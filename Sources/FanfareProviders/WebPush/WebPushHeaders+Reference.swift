internal import FanfareCore

extension WebPushHeaders {
    /// The headers that Fanfare interprets.
    static let described: [KeyDescription] = [
        KeyDescription(
            "message.webpush.headers.\(timeToLive)",
            "string",
            range: "whole seconds",
            standard: "the time until the deadline; a day if there is no deadline",
            "How long the push service keeps the push. Never later than the deadline."
        ),
        KeyDescription(
            "message.webpush.headers.\(urgency)",
            "string",
            range: urgencies.joined(separator: " | "),
            standard: "high with `android.priority: HIGH` or `android_v2.remote_notification`, else normal",
            "How soon a device that saves power gets the push."
        ),
        KeyDescription(
            "message.webpush.headers.\(topic)",
            "string",
            range: "1 to \(WebPushTopic.lengthLimit) of a-z A-Z 0-9 - _",
            standard: "a hash of `collapse`",
            "A newer push with the same topic replaces this one at the push service."
        ),
    ]
}
