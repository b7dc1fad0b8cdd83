/// A well-formed request to `messages:send`.
struct FCMMessage {
    /// The target of a message.
    enum Target {
        case token(String)
        case topic(String)
        case condition(String)
        /// A Firebase installation.
        case installation(String)

        init?(_ name: String, _ value: String) {
            switch name {
            case "token": self = .token(value)
            case "topic": self = .topic(value)
            case "condition": self = .condition(value)
            case "fid": self = .installation(value)
            default: return nil
            }
        }

        /// The name in the ledger and in faults.
        var name: String {
            switch self {
            case .token(let token): token
            case .topic(let topic): "/topics/" + topic
            case .condition(let condition): condition
            case .installation(let id): id
            }
        }

        /// Whether the target is a single device.
        var isDevice: Bool {
            switch self {
            case .token, .installation: true
            case .topic, .condition: false
            }
        }
    }

    private static let targetNames: Set<String> = ["token", "topic", "condition", "fid"]

    let body: JSONObject
    let validatesOnly: Bool
    /// The targets of the message; exactly one is allowed.
    let targets: [Target]

    init(_ root: JSONObject) {
        body = root.field("message")?.members ?? JSONObject()
        if case .bool(true)? = root.field("validate_only") { validatesOnly = true } else { validatesOnly = false }
        targets = body.members.compactMap { name, value in
            Self.targetNames.contains(name) ? value.text.flatMap { Target(name, $0) } : nil
        }
    }

    /// The objects that hold data for an app, with their paths.
    var dataMaps: [(path: String, map: JSONObject)] {
        [
            ("message.data", body["data"]), ("message.android.data", part("android", "data")),
            ("message.android_v2.data", part("android_v2", "data")), ("message.webpush.data", part("webpush", "data")),
        ]
        .compactMap { path, value in value?.members.map { (path: path, map: $0) } }
    }

    /// Returns a field of a provider's block.
    func part(_ block: String, _ name: String) -> JSONValue? {
        body.field(block)?.members?.field(name)
    }

    /// The block for Android: `android_v2` if the message has it.
    var androidName: String { body.field("android_v2") == nil ? "android" : "android_v2" }

    /// The notification of the block for Android.
    var androidNotification: JSONValue? {
        androidName == "android"
            ? part("android", "notification")
            : part("android_v2", "remote_notification")?.members?.field("notification")
    }

    /// The number of bytes that count for Android: keys and values of data and notification.
    var androidSize: Int {
        let data = part(androidName, "data") ?? body["data"]
        return Self.size(data) + Self.size(body["notification"]) + Self.size(androidNotification)
    }

    /// The size of the payload for APNs in bytes.
    var apnsSize: Int {
        part("apns", "payload")?.json.utf8.count ?? 0
    }

    /// Returns the size of keys and values, without JSON's syntax.
    private static func size(_ value: JSONValue?) -> Int {
        switch value {
        case nil, .null?: 0
        case .string(let text)?: text.utf8.count
        case .array(let values)?: values.reduce(0) { $0 + size($1) }
        case .object(let object)?: object.members.reduce(0) { $0 + $1.name.utf8.count + size($1.value) }
        case let other?: other.json.utf8.count
        }
    }

    /// The identity of a message, because FCM has no id for it; the time to live is not part of it, because a retry may
    /// have less left.
    var identity: String {
        var hash = StableHash()
        Self.combine(.object(body), into: &hash)
        return String(hash.value, radix: 36)
    }

    private static func combine(_ value: JSONValue, into hash: inout StableHash) {
        switch value {
        case .string(let text): hash.combine(text)
        case .array(let values): values.forEach { combine($0, into: &hash) }
        case .object(let object):
            for (name, value) in object.members where name != "ttl" && name != "TTL" {
                hash.combine(name)
                combine(value, into: &hash)
            }
        default: hash.combine(value.json)
        }
    }
}
