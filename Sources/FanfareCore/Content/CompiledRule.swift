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
    /// Without locale first, then one for each tag; nil where there is nothing for APNs.
    private let apns: [APNSContent?]

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
        var contents = [try APNSContent.compile([message], rule: definition)]
        for member in definition.locales.members {
            let reader = try RuleObject(member.value, path: "locales.\(member.key)")
            let overlay = try MessagePart(reader, isOverlay: true)
            contents.append(try APNSContent.compile([message, overlay], rule: definition))
        }
        guard contents.contains(where: { $0 != nil }) else {
            throw RuleProblem(
                path: "message",
                reason: "has nothing for apns, the only platform of this version",
                hint: "add notification, data or apns.payload"
            )
        }
        apns = contents
        needsDevice = contents.contains { $0?.usesDevice ?? false }
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
    ///   - topic: the app's APNs topic, without a suffix.
    ///   - device: the device; required if ``needsDevice``, unused otherwise.
    /// - Returns: headers and body.
    /// - Throws: `RenderProblem`; the pairs are then `refused`.
    public func render(
        _ context: RenderContext,
        platform: PushProvider,
        kind: DeviceKind,
        locale: String?,
        topic: String,
        device: DeviceContext? = nil
    ) throws(RenderProblem) -> RenderedPush {
        guard platform == .apns else { throw .unsupported(platform) }
        guard device != nil || !needsDevice else { throw .deviceNeeded }
        let index = locales.index(for: locale).map { $0 + 1 } ?? 0
        guard let content = apns[index] else { throw .noContent(platform) }
        let scope = TemplateScope(context: context, device: device)
        return try content.render(in: scope, kind: kind, topic: topic, collapse: collapse)
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
