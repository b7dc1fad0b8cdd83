extension FCMMessage {
    /// The longest time to live: four weeks, in seconds.
    private static let longestTTL = 2_419_200.0
    /// The largest message for each provider, in bytes.
    private static let largest = 4096

    /// Runs FCM's checks in their order.
    ///
    /// - Parameter packageName: the simulated app's package name.
    /// - Returns: the error of the response, or nil.
    func failure(packageName: String) -> GoogleError? {
        targetFailure ?? androidFailure ?? dataFailure ?? appleFailure ?? ttlFailure ?? linkFailure ?? sizeFailure
            ?? packageFailure(
                packageName
            )
            ?? silenceFailure ?? tokenFailure
    }

    /// The error of the blocks for Android; the documentation of the preview names no texts.
    private var androidFailure: GoogleError? {
        guard let second = body.field("android_v2")?.members else { return nil }
        if body.field("android") != nil {
            return .invalid("message.android_v2", "Only one of android and android_v2 can be set")
        }
        let kinds = ["remote_notification", "background_sync"].filter { second.field($0) != nil }
        guard kinds.count != 1 else { return nil }
        return .invalid(
            "message.android_v2",
            "Exactly one of remote_notification and background_sync must be set"
        )
    }

    private var appleFailure: GoogleError? {
        if let place = part("apns", "payload")?.members.flatMap({ ApplePayload.fault(in: $0) }) {
            return .invalid("message.apns.payload.\(place)", "A phone ignores this value")
        }
        if let token = part("apns", "live_activity_token"),
            token.text?.isEmpty != false || targets.first?.isDevice != true
        {
            return .invalid("message.apns.live_activity_token", "A token is needed, and one device as the target")
        }
        guard let time = appleHeader("apns-expiration"), UInt64(time).map({ $0 < 100_000_000_000 }) != true else {
            return nil
        }
        return .invalid("message.apns.headers.apns-expiration", "Seconds since 1970 are needed")
    }

    private func appleHeader(_ name: String) -> String? {
        part("apns", "headers")?.members?.members.last { $0.name.lowercased() == name }?.value.text
    }

    /// The error of a high-priority push without an alert, for which FCM blames the token.
    private var silenceFailure: GoogleError? {
        let aps = part("apns", "payload")?.members?["aps"]?.members
        let isShown = ["alert", "badge", "sound", "event"].contains { aps?[$0] != nil }
        guard appleHeader("apns-priority") == "10", body["notification"] == nil, !isShown,
            part("apns", "live_activity_token") == nil
        else { return nil }
        return Self.malformedToken
    }

    private static let malformedToken = GoogleError(
        status: 400,
        message: "The registration token is not a valid FCM registration token",
        code: .invalidArgument
    )

    private var targetFailure: GoogleError? {
        guard let target = targets.first else {
            return .invalid("message", "Recipient of the message is not set.")
        }
        guard targets.count == 1 else {
            let text = "Invalid value at 'message' (oneof), oneof field 'target' is already set."
            return GoogleError(status: 400, message: text, violations: [.init(field: "message", description: text)])
        }
        return switch target {
        case .topic(let name) where !FCMCondition.isTopic(name): .invalid("message.topic", "Malformed topic name")
        case .condition(let text) where !FCMCondition.isAcceptable(text):
            .invalid("message.condition", "Invalid condition expression provided.")
        default: nil
        }
    }

    private var dataFailure: GoogleError? {
        for (path, map) in dataMaps {
            for (index, member) in map.members.enumerated() where Self.isReserved(member.name) {
                return .invalid("\(path)[\(index)].key", "Invalid data payload key: \(member.name)")
            }
        }
        return nil
    }

    private static func isReserved(_ key: String) -> Bool {
        key == "from" || key == "message_type" || key.hasPrefix("google") || key.hasPrefix("gcm")
    }

    private var ttlFailure: GoogleError? {
        guard let seconds = part(androidName, "ttl")?.text.flatMap(FCMDuration.init)?.seconds else { return nil }
        guard seconds > Self.longestTTL else { return nil }
        return .invalid("message.\(androidName).ttl", "Invalid ttl: must be from 0 to 2419200 seconds")
    }

    private var linkFailure: GoogleError? {
        guard let link = part("webpush", "fcm_options")?.members?.field("link")?.text, !link.hasPrefix("https://")
        else {
            return nil
        }
        return .invalid("message.webpush.fcm_options.link", "Web push link must be an https URL")
    }

    private var sizeFailure: GoogleError? {
        if androidSize > Self.largest { return .invalid("message", "Android message is too big") }
        if apnsSize > Self.largest { return .invalid("message.apns.payload", "APNs message is too big") }
        return nil
    }

    private func packageFailure(_ packageName: String) -> GoogleError? {
        guard let name = part(androidName, "restricted_package_name")?.text, name != packageName else { return nil }
        return .invalid("message.\(androidName).restricted_package_name", "The package name does not match the app's")
    }

    private var tokenFailure: GoogleError? {
        guard case .token(let token)? = targets.first, !FCMToken.isWellFormed(token) else { return nil }
        return Self.malformedToken
    }
}

/// The format of registration tokens, which are opaque: only their alphabet is checked.
enum FCMToken {
    private static let longest = 4096

    static func isWellFormed(_ token: String) -> Bool {
        !token.isEmpty && token.utf8.count <= longest
            && token.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ":"):
                    true
                default: false
                }
            }
    }
}
