package import FanfareCore

/// The content that a rule sends to FCM for one locale: the message, nearly as written.
package struct FCMContent: ProviderContent {
    /// The start of a request body, before the message.
    static let opening = Array("{\"message\":".utf8)
    /// The end of a request body, which closes message and body.
    static let closing = Array("}}".utf8)

    private let forms: FCMForms
    /// The forms for apps that ask for ``AndroidBlock/second``; nil if these are the same.
    private let preview: FCMPreview?
    /// Whether the message carries the token of a Live Activity.
    private let isForActivity: Bool
    package let usesDevice: Bool

    /// Compiles the content.
    ///
    /// - Parameters:
    ///   - parts: the message, and the locale's overlay if there is one.
    ///   - rule: the rule, for its options outside the message.
    /// - Returns: nil if the message has nothing for FCM.
    /// - Throws: `RuleProblem` if FCM would refuse the message.
    static func compile(_ parts: [MessagePart], rule: RuleDefinition) throws(RuleProblem) -> FCMContent? {
        var node = parts[0].node
        for part in parts.dropFirst() { node = overlaid(node, with: part.node) }
        if let payload = node[["apns", "payload"]] {
            // Apple Watch drops a push that contains a null.
            node = node.setting(["apns", "payload"], to: .object([]).mergePatched(with: payload))
        }
        let declarative = ["webpush", "declarative"]
        if node[declarative] != nil { node = node.setting(declarative[...], to: nil) }
        guard hasContent(node) else { return nil }
        var headers = APNsHeaders()
        for part in parts { if let block = part.apnsHeaders { try headers.merge(block) } }
        try checkSilence(node, headers, rule)
        try AndroidBlock.check(node, in: parts[parts.count - 1])
        let activity = ["apns", "live_activity_token"]
        let isForActivity = node[activity] != nil
        if MessageChecks.areOn, isForActivity, let keeper = rule.audience.selection.provider {
            throw RuleProblem(
                path: ([parts[parts.count - 1].path] + activity).joined(separator: "."),
                reason: "is for the activity of one device, but \(keeper.rawValue) keeps the audience",
                hint: "use users: or tokens:"
            )
        }
        try check(node, path: parts[parts.count - 1].path)
        return FCMContent(
            forms: FCMForms(node, rule: rule),
            preview: FCMPreview(node, rule: rule),
            isForActivity: isForActivity,
            usesDevice: node.usesDevice
        )
    }

    /// Renders the request body in two parts, before and after the recipient (``FCMTarget/insertion``).
    ///
    /// - Parameter request: the event and the variant.
    /// - Returns: the request that all devices of the variant share.
    /// - Throws: `RenderProblem` if a name is missing or the payload is too large.
    package func render(_ request: ContentRequest) throws(RenderProblem) -> RenderedPush {
        var scope = try request.derivedScope()
        let forms = request.identity.asksForPreview ? preview?.forms ?? forms : forms
        let given = try forms.givenDuration(scope)
        let lifetime = given.flatMap { Self.seconds($0) }
        scope.derived.givenDuration = given
        if let lifetime, scope.context.secondsSpent > 0 {
            scope.derived.givenDuration = "\(max(lifetime.subtractingClamping(scope.context.secondsSpent), 0))s"
        }
        var body = try forms.template(in: scope).render(in: scope, after: Self.opening)
        let message = body[Self.opening.count...]
        // FCM's size is smaller than that of the whole text, so the exact size is rarely needed.
        if message.count > FCMPayload.limit, let json = try? JSONValue(parsing: Array(message)) {
            let size = FCMPayload.size(of: json)
            guard size <= FCMPayload.limit else { throw .tooLarge(bytes: size, limit: FCMPayload.limit) }
        }
        // A message with content has members, so the insertion follows a comma.
        body[body.count - 1] = UInt8(ascii: ",")
        let context = scope.context
        return RenderedPush(
            headers: [],
            body: body,
            bodySuffix: Self.closing,
            deliveryHeader: nil,
            endsAt: lifetime.flatMap { context.end(ofLifetime: $0) },
            isForActivity: isForActivity
        )
    }

    /// Renders one request for the whole audience; the address holds the recipient.
    package func render(
        to audience: NativeTarget,
        _ request: ContentRequest
    ) throws(RenderProblem) -> RenderedPush {
        try render(request)
    }

    /// Returns the whole seconds of `3600s` or `3.5s`, truncated as FCM does; nil for a template's value that FCM will
    /// reject.
    private static func seconds(_ duration: String) -> Int64? {
        guard duration.hasSuffix("s"), let seconds = Double(duration.dropLast()), seconds >= 0 else { return nil }
        return Int64(exactly: seconds.rounded(.down))
    }

    /// Returns whether the message has content for any operating system.
    private static func hasContent(_ message: ContentNode) -> Bool {
        let places = [
            ["notification"], ["data"], ["android", "notification"], ["android", "data"], ["apns", "payload"],
            ["webpush", "notification"], ["webpush", "data"], ["android_v2"],
        ]
        return places.contains { message[$0]?.mergeMembers?.isEmpty == false }
    }

    /// Rejects an urgent push without visible content, for which FCM would blame the token of an iPhone.
    private static func checkSilence(
        _ message: ContentNode,
        _ headers: APNsHeaders,
        _ rule: RuleDefinition
    ) throws(RuleProblem) {
        let types = [nil, "alert", "background"]
        guard let priority = headers[APNsHeaders.priority],
            types.contains(headers[APNsHeaders.pushType]?.template.literal)
        else { return }
        let aps = message[["apns", "payload", "aps"]]
        let isActivity = aps?["event"] != nil || message[["apns", "live_activity_token"]] != nil
        let hasNotification = message["notification"]?.mergeMembers?.isEmpty == false
        let isShown = hasNotification || aps.map(APNsContent.hasVisiblePart) ?? false
        if !isShown, !isActivity, let problem = priority.silentProblem(.background) { throw problem }
    }

    private static func check(_ message: ContentNode, path: String) throws(RuleProblem) {
        let block = AndroidBlock(of: message).notification
        let notification = message[block]
        let place = ([path] + block).joined(separator: ".")
        for name in ["title", "body"] where notification?["\(name)_loc_args"] != nil {
            guard notification?["\(name)_loc_key"] == nil else { continue }
            throw RuleProblem(
                path: "\(place).\(name)_loc_args",
                reason: "has no \(name)_loc_key beside it",
                hint: "give the key, or leave the arguments out"
            )
        }
        if let lights = notification?["light_settings"] {
            for name in ["color", "light_on_duration", "light_off_duration"] where lights[name] == nil {
                throw RuleProblem(
                    path: "\(place).light_settings",
                    reason: "has no \(name)",
                    hint: "FCM needs color, light_on_duration and light_off_duration"
                )
            }
        }
        let size = FCMPayload.size(of: message)
        guard size <= FCMPayload.limit else {
            throw RuleProblem(
                path: path,
                reason: "has at least \(size) bytes for one platform of fcm",
                hint: "FCM takes at most \(FCMPayload.limit)"
            )
        }
    }
}

extension FCMContent {
    /// Returns the message merged with a locale's changes (RFC 7396).
    ///
    /// In FCM, the block of an operating system overrides `notification` and `data`. A locale applies last, so its
    /// values also replace those in the blocks.
    private static func overlaid(_ message: ContentNode, with overlay: ContentNode) -> ContentNode {
        var result = message
        for (key, _) in overlay["notification"]?.mergeMembers ?? [] {
            for block in [["android", "notification"], ["webpush", "notification"]] {
                result = result.setting((block + [key])[...], to: nil)
            }
            // Removed alone: even an empty block says that something is shown.
            let second = AndroidBlock.second.notification
            if let members = result[second]?.mergeMembers {
                result = result.setting(second[...], to: .object(members.filter { !$0.key.isExactly(key) }))
            }
            // An alert that is plain text replaces title and body.
            let alert = ["apns", "payload", "aps", "alert"]
            let isObject = result[alert]?.mergeMembers != nil
            if isObject || key != "image" { result = result.setting((isObject ? alert + [key] : alert)[...], to: nil) }
        }
        for (key, value) in overlay["data"]?.mergeMembers ?? [] {
            for block in ["android", "android_v2", "webpush"] where result[[block, "data"]]?.mergeMembers != nil {
                result = result.setting([block, "data", key], to: value.removesMember ? nil : value)
            }
            result = result.setting(["apns", "payload", key], to: nil)
        }
        return result.mergePatched(with: overlay)
    }
}
