internal import FanfareCore
internal import FanfareLogging
internal import FanfareStore
internal import PostgresClient

/// What hooks are told, as text.
enum FeedbackBody {
    /// The longest body of a request, in bytes.
    static let limit = 256 * 1024
    /// The longest payload of a notification, in bytes; PostgreSQL takes less than 8,000.
    static let notificationLimit = 7_900

    /// One outcome as JSON.
    ///
    /// Ids are text, as in the HTTP API: they may be larger than JavaScript's numbers.
    static func json(_ item: FeedbackItem) -> JSONValue {
        var object = JSONObject()
        object["type"] = .string(type(of: item))
        object["at"] = .string(time(item.at))
        object["app"] = .string(item.app)
        object["provider"] = .string(item.provider)
        object["environment"] = .string(item.environment)
        // 0 stands for an audience that the provider manages.
        object["device_id"] = item.deviceID == 0 ? .null : .string("\(item.deviceID)")
        object["user_id"] = item.userID.map(JSONValue.string) ?? .null
        object["token_sha256"] = item.tokenHash.map(JSONValue.string) ?? .null
        object["outcome"] = .string(item.outcome)
        object["reason"] = .string(item.reason)
        object["event_id"] = .string("\(item.eventID)")
        object["event_type"] = .string(item.eventType)
        object["rule"] = .string(item.rule)
        object["attempt"] = .number(JSONNumber(item.attempt))
        return .object(object)
    }

    /// A device that was registered again since, or whose row was locked, is not disabled: its push failed, no more.
    private static func type(of item: FeedbackItem) -> String {
        switch item.outcome {
        case "accepted": "push.accepted"
        case "gone" where item.isDisabled: "device.disabled"
        default: "push.failed"
        }
    }

    private static func time(_ time: Timestamp) -> String {
        LogTimestamp(microsecondsSince1970: time.microseconds).description
    }

    /// As many outcomes as fit into the body of a request, from the first on.
    ///
    /// - Parameters:
    ///   - items: at least one.
    ///   - isWhole: whether all of them are to be in it, however long it is, because they were once.
    /// - Returns: the body (`type`, `timestamp` and `data`, as Standard Webhooks has it) and how many are in it.
    static func request(_ items: [FeedbackItem], isWhole: Bool) -> (body: [UInt8], count: Int) {
        var list: [UInt8] = []
        var count = 0
        for item in items {
            let text = Array(json(item).text.utf8)
            // With room for what stands around them.
            guard isWhole || count == 0 || list.count + text.count < limit - 200 else { break }
            if count > 0 { list.append(UInt8(ascii: ",")) }
            list += text
            count += 1
        }
        let newest = items.prefix(count).map(\.at.microseconds).max() ?? 0
        let head =
            #"{"type":"feedback.batch","timestamp":"\#(time(Timestamp(microseconds: newest)))","data":{"items":["#
        return (Array(head.utf8) + list + Array("]}}".utf8), count)
    }

    /// The outcomes as payloads of notifications, each `{"items": […]}`.
    static func notifications(_ items: [FeedbackItem]) -> [String] {
        var payloads: [String] = []
        var list = ""
        for item in items {
            var value = json(item)
            // Nothing else in it can be that long.
            if value.text.utf8.count > notificationLimit - 12, case .object(var object) = value {
                object["user_id"] = .null
                value = .object(object)
            }
            let text = value.text
            if !list.isEmpty && list.utf8.count + text.utf8.count > notificationLimit - 13 {
                payloads.append(#"{"items":[\#(list)]}"#)
                list = ""
            }
            list += list.isEmpty ? text : ",\(text)"
        }
        if !list.isEmpty { payloads.append(#"{"items":[\#(list)]}"#) }
        return payloads
    }
}
