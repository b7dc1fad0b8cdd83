internal import FanfareCore

extension APNsHeaders {
    /// The headers that a rule may set.
    static let described: [KeyDescription] = [
        KeyDescription(
            "message.apns.headers.\(topic)",
            "string",
            standard: "the app's bundle id with the suffix of the push type",
            "One of the app's topics. Not with a channel."
        ),
        KeyDescription(
            "message.apns.headers.\(pushType)",
            "string without template",
            range: APNsPushType.allCases.map(\.rawValue).joined(separator: " | "),
            standard: "by `to.kind`; for the kind `device` alert, or background if the push shows nothing",
            "The push type."
        ),
        KeyDescription(
            "message.apns.headers.\(priority)",
            "string without template",
            range: "10 | 5 | 1",
            standard: "10; 5 for the push type background",
            "`5` spares the battery, `1` does not wake the device."
        ),
        KeyDescription(
            "message.apns.headers.\(expiration)",
            "string",
            range: "whole seconds since 1970",
            standard: "the deadline; 0 for voip and pushtotalk",
            "The time at which APNs discards the push if it has not been delivered; 0 means that APNs does not store the push. Not together with `ttl`."
        ),
        KeyDescription(
            "message.apns.headers.\(collapseID)",
            "string",
            range: "1 to \(CollapseID.limit) bytes of printable ASCII",
            standard: "`collapse`",
            "A newer push with the same id replaces this one on the device. Not together with `collapse` or a channel."
        ),
    ]
}
