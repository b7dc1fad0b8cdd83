import Foundation

extension ReceivedPush {
    /// The push as a person would see it: what the simulated device shows, and how it came.
    ///
    /// Several lines without a line break at the end. Meant for a terminal, not for programs: wording may change.
    ///
    /// - Returns: the text; control characters from the push are replaced, so it cannot steer the terminal.
    public func describe() -> String {
        var lines = [headline]
        if isAccepted {
            lines += shown.map { "  │ " + $0 }
        }
        lines.append("  \(provider == "webpush" ? "endpoint" : "token")  " + shortTarget)
        for name in Self.tellingHeaders {
            if let value = headers[name] {
                lines.append("  \(name)  \(value)")
            }
        }
        if let problem { lines.append("  problem  " + problem) }
        if let body { lines.append("  payload  " + body) }
        return lines.map(Self.printable).joined(separator: "\n")
    }

    private static let tellingHeaders = [
        "apns-topic", "apns-push-type", "apns-priority", "apns-collapse-id", "apns-expiration", "apns-id",
        "apns-channel-id", "ttl", "urgency", "topic",
    ]

    private var isAccepted: Bool {
        status.map { (200..<300).contains($0) } ?? false
    }

    private var device: String {
        switch provider {
        case "apns": "the simulated iPhone"
        case "fcm": "the simulated Android phone"
        case "webpush": "the simulated browser"
        default: "the simulated service"
        }
    }

    private var headline: String {
        guard let status else { return "#\(n) \(provider) \(environment) gave no answer (fault: \(fault ?? "none"))" }
        guard isAccepted else { return "#\(n) \(provider) \(environment) refused a push: \(status) \(reason ?? "")" }
        switch provider {
        case "oauth": return "#\(n) Google issued an access token (\(environment))"
        case "iid": return "#\(n) FCM changed the subscriptions of a topic (\(environment))"
        default: return "#\(n) \(device) got a push (\(provider) \(environment))"
        }
    }

    /// What appears on the screen.
    private var shown: [String] {
        let root = body.flatMap { JSONParser.parse($0.utf8) }?.members
        switch provider {
        case "apns": return Self.shown(aps: root?["aps"]?.members)
        case "fcm":
            let message = root?.field("message")?.members
            let android = message?["android"]?.members?["notification"]?.members
            return Self.shown(notification: message?["notification"]?.members, over: android)
        case "webpush": return Self.shown(notification: root?["notification"]?.members, over: nil)
        default: return []
        }
    }

    private static func shown(aps: JSONObject?) -> [String] {
        guard let aps else { return ["(no aps dictionary)"] }
        var lines: [String] = []
        switch aps["alert"] {
        case .string(let text)?: lines.append(text)
        case .object(let alert)?:
            for key in ["title", "subtitle", "body"] {
                if let text = alert[key]?.text {
                    lines.append(text)
                } else if let localized = alert[key == "body" ? "loc-key" : key + "-loc-key"]?.text {
                    lines.append("(\(localized))")
                }
            }
        default: break
        }
        if case .integer(let badge)? = aps["badge"] { lines.append("badge \(badge)") }
        if let sound = aps["sound"]?.text { lines.append("sound \(sound)") }
        return lines.isEmpty ? ["(nothing to see: the app is told in the background)"] : lines
    }

    /// A notification of FCM or of a browser; a platform's own fields come before the common ones.
    private static func shown(notification: JSONObject?, over platform: JSONObject?) -> [String] {
        let lines = ["title", "body"].compactMap { platform?[$0]?.text ?? notification?[$0]?.text }
        return lines.isEmpty ? ["(nothing to see: the app is told in the background)"] : lines
    }

    private var shortTarget: String {
        let last = (target.isEmpty ? path : target).split(separator: "/").last.map(String.init) ?? path
        return last.count > 16 ? "\(last.prefix(8))…\(last.suffix(4))" : last
    }

    private static func printable(_ line: String) -> String {
        String(
            String.UnicodeScalarView(
                line.unicodeScalars.map { $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 }
            )
        )
    }
}
