internal import FanfareCore

/// The allowed content of `apns.payload`.
///
/// Sources: Apple, "Generating a remote notification" and "Starting and updating Live Activities with ActivityKit push
/// notifications". APNs accepts any JSON, and the phone ignores fields of the wrong type. Unknown keys are accepted,
/// because Apple adds some each year, unless they are nearly identical to a known key.
enum APSSchema {
    static let payload = MessageField.open([("aps", .similar(fields))])

    private static let fields: [(key: String, field: MessageField)] = [
        ("alert", .textOr(.similar(alert))), ("badge", .count), ("sound", .textOr(.similar(sound))),
        ("thread-id", .text), ("category", .text), ("content-available", .zeroOrOne),
        ("mutable-content", .zeroOrOne), ("target-content-id", .text),
        ("interruption-level", .form(.exactWord(["passive", "active", "time-sensitive", "critical"]))),
        ("relevance-score", .number(0...Double.greatestFiniteMagnitude)), ("filter-criteria", .text),
        ("stale-date", .time), ("content-state", .freeObject), ("timestamp", .time), ("event", .text),
        ("dismissal-date", .time), ("attributes-type", .text), ("attributes", .freeObject),
        ("input-push-token", .zeroOrOne), ("input-push-channel", .text), ("content-changed", .flag),
        ("url-args", .texts), ("summary-arg", .text), ("summary-arg-count", .count),
    ]

    private static let alert: [(key: String, field: MessageField)] = [
        ("title", .textOr(.freeObject)), ("subtitle", .text), ("body", .textOr(.freeObject)), ("launch-image", .text),
        ("title-loc-key", .text), ("title-loc-args", .texts), ("subtitle-loc-key", .text),
        ("subtitle-loc-args", .texts), ("loc-key", .text), ("loc-args", .texts), ("action", .text),
        ("action-loc-key", .text), ("summary-arg", .text), ("summary-arg-count", .count),
        ("sound", .textOr(.similar(sound))), ("actions", .anything),
    ]

    private static let sound: [(key: String, field: MessageField)] = [
        ("critical", .zeroOrOne), ("name", .text), ("volume", .number(0...1)),
    ]
}

extension MessageField {
    fileprivate static let count = MessageField.number(0...2_147_483_647, isWhole: true)
    fileprivate static let zeroOrOne = MessageField.number(0...1, isWhole: true)
}
