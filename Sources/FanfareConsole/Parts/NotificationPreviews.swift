internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareExplain
internal import FanfareTools

/// A message as three screens show it.
struct NotificationPreviews: ViewContext {
    let apple: PreviewCard?
    let android: PreviewCard?
    let browser: PreviewCard?
}

/// A message as one screen shows it.
struct PreviewCard: ViewContext {
    /// The app's name in the configuration, or the site's.
    let app: String
    /// The app's first letter, in the place of its icon.
    let initial: String
    let title: String?
    let subtitle: String?
    /// The text, cut where the screen cuts it.
    let body: String?
    /// The site's address.
    let origin: String?
    /// The image's address; the console does not load it.
    let image: String?
    let buttons: [String]
    /// The number on the app's icon.
    let badge: String?
    /// The reason why nothing is shown: data only, or a background push.
    let silent: String?
    /// The size, such as `412 of 4,096 bytes`.
    let size: String
    let isTooLarge: Bool
    /// The properties that the screen does not show: sound, priority, collapse.
    let facts: [Fact]
    /// The message as it is sent, without the token.
    let json: String
}

extension NotificationPreviews {
    /// Shows rendered messages as screens do: for each provider the first message, preferably one that can be sent.
    ///
    /// Nil if no message is for a screen.
    ///
    /// - Parameter messages: the messages as providers would get them.
    init?(_ messages: [RuleExplanation]) {
        func card(_ provider: String, _ read: (JSONValue, RuleExplanation) -> ScreenText) -> PreviewCard? {
            let all = messages.filter { $0.provider.rawValue == provider }
            let variants = all.compactMap(\.variant)
            return (all.first { $0.problem == nil } ?? all.first).map { PreviewCard($0, of: variants, read) }
        }
        self.init(
            apple: card("apns", ScreenText.apple),
            android: card("fcm", ScreenText.android),
            browser: card("webpush", ScreenText.browser)
        )
        if apple == nil && android == nil && browser == nil { return nil }
    }
}

extension PreviewCard {
    /// Shows a message.
    ///
    /// - Parameters:
    ///   - message: as the provider would get it.
    ///   - variants: all variants.
    ///   - read: reads what the screen shows.
    fileprivate init(
        _ message: RuleExplanation,
        of variants: [String],
        _ read: (JSONValue, RuleExplanation) -> ScreenText
    ) {
        let body = (try? JSONValue(parsing: message.body)) ?? .null
        let text = read(body, message)
        let bytes = FigureText.count(Int64(message.body.utf8.count))
        var silent = message.problem.map { "Nothing is sent: \($0)" }
        if silent == nil && (message.isSilent || text.isEmpty) {
            silent = "Nothing is shown: the app gets the data and decides what to do."
        }
        var facts = text.facts
        if let variant = message.variant {
            let others = variants.filter { $0 != variant }
            let words = others.isEmpty ? variant : "\(variant); others get \(others.joined(separator: ", "))"
            facts.insert(Fact(name: "Variant", words: words), at: 0)
        }
        if let locale = message.matchedLocale { facts.insert(Fact(name: "Locale", words: locale), at: 0) }
        self.init(
            app: message.app,
            initial: message.app.prefix(1).uppercased(),
            title: text.title,
            subtitle: text.subtitle,
            body: text.body,
            origin: nil,
            image: text.image,
            buttons: text.buttons,
            badge: text.badge,
            silent: silent,
            size: message.bodyLimit.map { "\(bytes) of \(FigureText.count(Int64($0))) bytes" } ?? "\(bytes) bytes",
            isTooLarge: message.bodyLimit.map { message.body.utf8.count > $0 } ?? false,
            facts: facts,
            json: message.problem == nil ? body.indented() : ""
        )
    }
}

/// The parts of a message that a screen shows, and those it does not.
private struct ScreenText {
    var title: String?
    var subtitle: String?
    var body: String?
    var image: String?
    var buttons: [String] = []
    var badge: String?
    var facts: [Fact] = []

    var isEmpty: Bool { title == nil && subtitle == nil && body == nil }

    /// Reads what the lock screen shows (Apple, "Generating a remote notification").
    static func apple(_ json: JSONValue, _ message: RuleExplanation) -> ScreenText {
        let aps = json["aps"]
        let alert = aps?["alert"]
        var text = ScreenText()
        text.title = part("title", alert)
        text.subtitle = part("subtitle", alert)
        text.body = alert?.stringValue ?? alert?["body"]?.stringValue ?? alert?["loc-key"].map(Self.key)
        text.badge = aps?["badge"].flatMap { $0 == 0 ? nil : $0.text }
        text.image = json["fcm_options"]?["image"]?.stringValue
        text.add("Sound", aps?["sound"]?.stringValue ?? aps?["sound"]?["name"]?.stringValue)
        text.add("Priority", message.header("apns-priority"))
        text.add("Collapse", message.header("apns-collapse-id"))
        text.add("Type", message.header("apns-push-type"))
        text.add("Level", aps?["interruption-level"]?.stringValue)
        text.add("Category", aps?["category"]?.stringValue)
        return text
    }

    /// Reads what Android's notification shade shows; as in FCM's library, Android's options override the general ones.
    static func android(_ json: JSONValue, _ message: RuleExplanation) -> ScreenText {
        let sent = json["message"]
        let second = sent?["android_v2"]
        let android = second ?? sent?["android"]
        let own = (second?["remote_notification"] ?? android)?["notification"]
        let common = sent?["notification"]
        var text = ScreenText()
        text.title = own?["title"]?.stringValue ?? common?["title"]?.stringValue ?? own?["title_loc_key"].map(Self.key)
        text.body = own?["body"]?.stringValue ?? common?["body"]?.stringValue ?? own?["body_loc_key"].map(Self.key)
        text.image = own?["image"]?.stringValue ?? common?["image"]?.stringValue
        text.add("Channel", own?["channel_id"]?.stringValue)
        text.add("Priority", android?["priority"]?.stringValue)
        text.add("Collapse", android?["collapse_key"]?.stringValue ?? own?["tag"]?.stringValue)
        text.add("Time to live", android?["ttl"]?.stringValue.map(FigureText.span))
        return text
    }

    /// Reads what a service worker passes to `showNotification` (Notifications API).
    static func browser(_ json: JSONValue, _ message: RuleExplanation) -> ScreenText {
        let notification = json["notification"]
        var text = ScreenText()
        text.title = notification?["title"]?.stringValue
        text.body = notification?["body"]?.stringValue
        text.image = notification?["image"]?.stringValue
        text.buttons = (notification?["actions"]?.arrayValue ?? []).compactMap { $0["title"]?.stringValue }
        text.add("Urgency", message.header("urgency"))
        text.add("Time to live", message.header("ttl").map(FigureText.span))
        text.add("Topic", message.header("topic"))
        text.add("Link", (notification?["navigate"] ?? json["fcm_options"]?["link"])?.stringValue)
        text.badge = json["app_badge"].flatMap { $0 == 0 ? nil : $0.text }
        return text
    }

    private static func part(_ name: String, _ alert: JSONValue?) -> String? {
        alert?[name]?.stringValue ?? alert?["\(name)-loc-key"].map(key)
    }

    /// Returns the placeholder of a text that the app localizes itself.
    private static func key(_ json: JSONValue) -> String { "[\(json.stringValue ?? json.text)]" }

    private mutating func add(_ name: String, _ code: String?) {
        if let code, !code.isEmpty { facts.append(Fact(name: name, code: code)) }
    }
}

extension RuleExplanation {
    fileprivate func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}
