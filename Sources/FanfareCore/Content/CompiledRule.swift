/// A rule that was found to make sense, ready to be rendered any number of times from any thread.
public struct CompiledRule: Sendable {
    /// The rule as it was written.
    public let definition: RuleDefinition
    /// Whom it reaches.
    public let audience: AudiencePlan
    /// Whether the message names a device or user field: then it is rendered for each device, otherwise once per
    /// event, locale and kind.
    public let needsDevice: Bool
    private let collapse: TextTemplate?
    private let locales: LocaleLookup
    /// Without locale first, then one for each tag.
    private let variants: [Variant]

    /// What one locale gets on each platform; nil where there is nothing for it.
    private struct Variant: Sendable {
        var apns: APNSContent?
        var fcm: FCMContent?
        var webPush: WebPushContent?

        init(_ parts: [MessagePart], rule: RuleDefinition) throws(RuleProblem) {
            let platforms = rule.audience.platforms
            if platforms.contains(.apns) { apns = try APNSContent.compile(parts, rule: rule) }
            if platforms.contains(.fcm) { fcm = try FCMContent.compile(parts, rule: rule) }
            if platforms.contains(.webpush) { webPush = try WebPushContent.compile(parts, rule: rule) }
        }

        var isEmpty: Bool { apns == nil && fcm == nil && webPush == nil }

        var usesDevice: Bool {
            (apns?.usesDevice ?? false) || (fcm?.usesDevice ?? false) || (webPush?.usesDevice ?? false)
        }
    }

    /// Checks and compiles a rule.
    ///
    /// - Parameter definition: the rule.
    /// - Throws: `RuleProblem` with the first thing that is wrong.
    public init(definition: RuleDefinition) throws(RuleProblem) {
        self.definition = definition
        audience = try AudiencePlan(definition.audience)
        collapse = try Self.collapse(definition)
        locales = try LocaleLookup(tags: definition.locales.keys, path: "locales")
        let message = try MessagePart(RuleObject(.object(definition.message), path: "message"), isOverlay: false)
        var variants = [try Variant([message], rule: definition)]
        for member in definition.locales.members {
            let reader = try RuleObject(member.value, path: "locales.\(member.key)")
            let overlay = try MessagePart(reader, isOverlay: true)
            variants.append(try Variant([message, overlay], rule: definition))
        }
        guard variants.contains(where: { !$0.isEmpty }) else {
            let platforms = definition.audience.platforms.map(\.rawValue).joined(separator: ", ")
            throw RuleProblem(
                path: "message",
                reason: "has nothing for \(platforms)",
                hint: "add notification, data or the payload of a platform"
            )
        }
        self.variants = variants
        needsDevice = variants.contains(where: \.usesDevice)
        try checkNative()
    }

    /// One request for all of an audience that a provider keeps cannot differ by device.
    private func checkNative() throws(RuleProblem) {
        guard let provider = definition.audience.selection.provider else { return }
        if needsDevice {
            throw RuleProblem(
                path: "message",
                reason: "names a device or user field, but \(provider.rawValue) gets one request for all",
                hint: "use names of the payload only"
            )
        }
        if !definition.locales.isEmpty {
            throw RuleProblem(
                path: "locales",
                reason: "cannot be told apart by \(provider.rawValue), which gets one request for all",
                hint: "make a rule and a topic for each language"
            )
        }
    }

    /// Reads, checks and compiles a rule.
    ///
    /// - Parameter json: the rule as JSON.
    /// - Throws: `RuleProblem` with the first thing that is wrong.
    public init(json: JSONValue) throws(RuleProblem) {
        try self.init(definition: RuleDefinition(json: json))
    }

    /// The rule's tag that serves a device: all devices with the same one, platform and kind are one variant.
    ///
    /// - Parameter locale: what the device said, such as `es-MX`; nil if it said nothing.
    /// - Returns: the tag as the rule writes it, such as `es`; nil if the message without locale serves it.
    public func matchedLocale(for locale: String?) -> String? {
        locales.index(for: locale).map { locales.tags[$0] }
    }

    /// Renders what the devices of one variant get.
    ///
    /// - Parameters:
    ///   - context: the event.
    ///   - platform: where it is sent.
    ///   - kind: the kind of the tokens.
    ///   - locale: a device's locale, or what ``matchedLocale(for:)`` made of it.
    ///   - topic: the app's APNs topic, without a suffix; unused for other platforms.
    ///   - device: the device; required if ``needsDevice``, unused otherwise.
    ///   - badge: what the rule's `badge_sql` gave for the device's user; nil leaves the message as it is.
    /// - Returns: headers and body.
    /// - Throws: `RenderProblem`; the pairs are then `refused`.
    public func render(
        _ context: RenderContext,
        platform: PushProvider,
        kind: DeviceKind,
        locale: String?,
        topic: String,
        device: DeviceContext? = nil,
        badge: Int64? = nil
    ) throws(RenderProblem) -> RenderedPush {
        guard device != nil || !needsDevice else { throw .deviceNeeded }
        let variant = variants[locales.index(for: locale).map { $0 + 1 } ?? 0]
        var scope = TemplateScope(context: context, device: device, badge: badge)
        switch platform {
        case .apns:
            guard let content = variant.apns else { throw .noContent(platform) }
            return try content.render(in: scope, kind: kind, topic: topic, collapse: collapse)
        case .fcm:
            guard let content = variant.fcm, kind == .device else { throw .noContent(platform) }
            scope.derived = try derivedValues(scope)
            return try content.render(in: scope)
        case .webpush:
            guard let content = variant.webPush, kind == .device else { throw .noContent(platform) }
            scope.derived = try derivedValues(scope)
            return try content.render(in: scope)
        }
    }

    /// Renders the one request that reaches an audience the provider keeps.
    ///
    /// - Parameters:
    ///   - context: the event.
    ///   - target: what ``NativeAudience/target(_:)`` made of the event.
    /// - Returns: headers and body; for FCM ``NativeTarget/fcm`` gives the insertion.
    /// - Throws: `RenderProblem`; the pair is then `refused`.
    public func render(_ context: RenderContext, to target: NativeTarget) throws(RenderProblem) -> RenderedPush {
        var scope = TemplateScope(context: context, device: nil)
        guard case .channel(let id) = target else {
            guard let content = variants[0].fcm else { throw .noContent(.fcm) }
            scope.derived = try derivedValues(scope)
            return try content.render(in: scope)
        }
        guard let content = variants[0].apns else { throw .noContent(.apns) }
        return try content.renderBroadcast(in: scope, channel: id)
    }

    /// What bodies and headers say of collapse id and time.
    private func derivedValues(_ scope: TemplateScope) throws(RenderProblem) -> DerivedValues {
        var values = DerivedValues()
        if let collapse {
            let id = try collapse.text(in: scope)
            // The limit of APNs holds for all, so that a rule does not work on one platform only.
            if collapse.literal == nil, let reason = APNSHeaders.fault(in: id, of: APNSHeaders.collapseID) {
                throw .header(name: "collapse", reason: reason)
            }
            values.collapse = id
            values.collapseTopic = WebPushTopic.hash(collapse: id, app: definition.app)
        }
        guard let expiration = scope.context.expiration, let now = scope.context.now else { return values }
        values.expiration = max(expiration, 0)
        values.secondsLeft = max(expiration.subtractingClamping(now), 0)
        return values
    }

    /// The key under which newer events supersede older ones.
    ///
    /// Events for different users or topics never share one.
    ///
    /// - Parameters:
    ///   - ruleID: the rule's id in the database.
    ///   - context: the event.
    /// - Returns: nil unless the rule supersedes or keeps only the latest per collapse id after an outage.
    /// - Throws: `RenderProblem` if a value for `to` or `collapse` is missing.
    public func collapseKey(ruleID: Int64, _ context: RenderContext) throws(RenderProblem) -> CollapseKey? {
        guard definition.dropsOlder, let collapse, let audience = try audience.renderedText(context) else { return nil }
        return CollapseKey(ruleID: ruleID, audience: audience, collapse: try collapse.text(context))
    }

    private static func collapse(_ definition: RuleDefinition) throws(RuleProblem) -> TextTemplate? {
        guard let source = definition.collapse else { return nil }
        let template = try TextTemplate(source, path: "collapse")
        guard !template.usesDevice else {
            throw RuleProblem(path: "collapse", reason: "depends on a device", hint: "use names of the payload only")
        }
        let name = APNSHeaders.collapseID
        let fault = template.literal.map { APNSHeaders.fault(in: $0, of: name) }
        if let reason = fault ?? APNSHeaders.fault(inPart: template.fixedText, of: name) {
            throw RuleProblem(path: "collapse", reason: reason, hint: "use up to 64 printable ASCII characters")
        }
        return template
    }
}
