internal import FanfareCore
internal import FanfareLogging
internal import FanfareStore
internal import PostgresClient

/// Encodes feedback for hooks.
enum FeedbackBody {
    /// The maximum body of a request, in bytes.
    static let limit = 256 * 1024
    /// The maximum payload of a notification, in bytes; PostgreSQL's limit is below 8,000.
    static let notificationLimit = 7_900

    /// Encodes one outcome or report as JSON.
    ///
    /// Ids are strings, as in the HTTP API, because they may exceed the integers of JavaScript.
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
        if item.report == nil {
            object["outcome"] = .string(item.outcome)
            object["reason"] = .string(item.reason)
        }
        object["event_id"] = .string("\(item.eventID)")
        object["event_type"] = .string(item.eventType)
        object["rule"] = .string(item.rule)
        if item.report == nil { object["attempt"] = .number(JSONNumber(item.attempt)) }
        object["action"] = item.action.map(JSONValue.string)
        return .object(object)
    }

    /// Returns the type of an item.
    ///
    /// If a token was reported gone but its device was registered again or its row was locked, the device is not
    /// disabled; the item is then `push.failed`.
    private static func type(of item: FeedbackItem) -> String {
        if let report = item.report { return "push.\(report)" }
        return switch item.outcome {
        case "accepted": "push.accepted"
        case "gone" where item.isDisabled: "device.disabled"
        default: "push.failed"
        }
    }

    private static func time(_ time: Timestamp) -> String {
        LogTimestamp(microsecondsSince1970: time.microseconds).description
    }

    /// Encodes as many outcomes as fit into the body of a request, starting with the first.
    ///
    /// - Parameters:
    ///   - items: at least one outcome.
    ///   - isWhole: whether to include all items regardless of length, for a retry of an earlier request.
    /// - Returns: the body (`type`, `timestamp` and `data`, as in Standard Webhooks) and the number of items in it.
    static func request(_ items: [FeedbackItem], isWhole: Bool) -> (body: [UInt8], count: Int) {
        var list: [UInt8] = []
        var count = 0
        for item in items {
            let text = Array(json(item).text.utf8)
            // 200 bytes are reserved for the envelope.
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

    /// Encodes the outcomes as payloads of notifications, each `{"items": […]}`.
    static func notifications(_ items: [FeedbackItem]) -> [String] {
        var payloads: [String] = []
        var list = ""
        for item in items {
            var value = json(item)
            // Only the user id can be that long.
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
