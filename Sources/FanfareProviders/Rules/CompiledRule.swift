public import FanfareCore

/// A rule that was found to make sense, ready to be rendered any number of times from any thread.
public struct CompiledRule: Sendable {
    /// The rule as it was written.
    public let definition: RuleDefinition
    /// Whom it reaches.
    public let audience: AudiencePlan
    /// Whether the message names a device or user field: then it is rendered for each device, otherwise once per
    /// event, locale and kind.
    public let needsDevice: Bool
    /// Whether the message names what a campaign's `audience_sql` says of users.
    package let needsVariables: Bool
    /// The providers it can reach: what its message was checked for.
    public let providers: [PushProvider]
    /// What tells which of its events are gathered together; nil if they are not.
    private let gatheredBy: TextTemplate?
    private let collapse: TextTemplate?
    private let locales: LocaleLookup
    /// One for each of the rule's variants; a single one where it has none.
    private let editions: [Edition]
    /// Who gets which; nil where all get the same.
    package let division: Division?

    /// What one variant of the message is: without locale first, then one for each tag.
    private typealias Edition = [Text]
    /// What one locale gets on each provider; those that get nothing are missing.
    private typealias Text = [PushProvider: Part]

    /// What one provider gets.
    private struct Part: Sendable {
        let content: any ProviderContent
        /// The kinds of tokens there.
        let kinds: Set<DeviceKind>
    }

    private static func text(
        _ parts: [MessagePart],
        _ rule: RuleDefinition,
        _ providers: [any Provider]
    ) throws(RuleProblem) -> Text {
        var text: Text = [:]
        for provider in providers {
            guard let content = try provider.content(parts, rule: rule) else { continue }
            text[provider.name] = Part(content: content, kinds: provider.kinds)
        }
        return text
    }

    private static func edition(
        _ message: MessageEdition,
        _ rule: RuleDefinition,
        _ providers: [any Provider]
    ) throws(RuleProblem) -> Edition {
        var texts = [try text(message.parts, rule, providers)]
        for overlay in message.overlays { texts.append(try text(message.parts + overlay, rule, providers)) }
        guard texts.contains(where: { !$0.isEmpty }) else {
            let names = providers.map(\.name.rawValue).joined(separator: ", ")
            throw RuleProblem(
                path: message.path,
                reason: "has nothing for \(names)",
                hint: "add notification, data or the payload of a provider"
            )
        }
        return texts
    }

    /// Checks and compiles a rule.
    ///
    /// - Parameter definition: the rule.
    /// - Throws: `RuleProblem` with the first thing that is wrong.
    public init(definition: RuleDefinition) throws(RuleProblem) {
        self.definition = definition
        let providers = try definition.audience.providers()
        audience = try AudiencePlan(definition.audience)
        collapse = try Self.collapse(definition)
        gatheredBy = try Self.gatheredBy(definition.digest)
        locales = try LocaleLookup(tags: definition.locales.keys, path: "locales")
        let message = try MessageEdition(definition)
        var editions = [try Self.edition(message, definition, providers)]
        if !definition.groups.variants.isEmpty {
            // What they have in common makes sense by itself, but nobody gets it.
            editions = []
            for (index, variant) in definition.groups.variants.enumerated() {
                let own = try message.with(variant, path: "variants[\(index)]", tags: locales.tags)
                editions.append(try Self.edition(own, definition, providers))
            }
        }
        self.editions = editions
        division = Division(definition)
        self.providers = providers.map(\.name)
        needsVariables = RuleNames.isOfCampaign(definition.name) && Self.namesVariables(definition)
        needsDevice = needsVariables || editions.joined().contains { $0.values.contains(where: \.content.usesDevice) }
        try checkNative()
    }

    /// Whether a string of the message, which compiles, names what is said of a user.
    private static func namesVariables(_ definition: RuleDefinition) -> Bool {
        func names(_ value: JSONValue) -> Bool {
            switch value {
            case .string(let text): (try? TextTemplate(text))?.usesVariables ?? false
            case .array(let elements): elements.contains(where: names)
            case .object(let object): object.members.contains { names($0.value) }
            case .null, .bool, .number: false
            }
        }
        let parts = definition.groups.variants.flatMap { [$0.message, $0.locales] }
        return ([definition.message, definition.locales] + parts).contains { names(.object($0)) }
    }

    /// One request for all of an audience that a provider manages cannot differ by device.
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

    /// The rule's tag that serves a device: all devices with the same one, provider and kind are one variant.
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
    ///   - provider: where it is sent.
    ///   - kind: the kind of the tokens.
    ///   - locale: a device's locale, or what ``matchedLocale(for:)`` made of it.
    ///   - identity: what the app is called there.
    ///   - device: the device; required if ``needsDevice``, unused otherwise.
    ///   - badge: what the rule's `badge_sql` gave for the device's user; nil leaves the message as it is.
    ///   - variant: the place of the rule's variant that the device's user gets; 0 where it has none.
    /// - Returns: headers and body.
    /// - Throws: `RenderProblem`; the deliveries are then `refused`.
    package func render(
        _ context: RenderContext,
        provider: PushProvider,
        kind: DeviceKind,
        locale: String?,
        identity: ProviderIdentity,
        device: DeviceContext? = nil,
        badge: Int64? = nil,
        variant: Int = 0
    ) throws(RenderProblem) -> RenderedPush {
        guard device != nil || !needsDevice else { throw .deviceNeeded }
        let text = editions[variant][locales.index(for: locale).map { $0 + 1 } ?? 0]
        guard let part = text[provider], part.kinds.contains(kind) else { throw .noContent(provider) }
        return try part.content.render(
            ContentRequest(
                scope: TemplateScope(context: context, device: device, badge: badge),
                kind: kind,
                identity: identity,
                collapse: collapse,
                app: definition.app
            )
        )
    }

    /// Renders the one request that reaches an audience the provider keeps.
    ///
    /// - Parameters:
    ///   - context: the event.
    ///   - target: what ``NativeAudience/target(_:)`` made of the event.
    /// - Returns: headers and body; what is inserted is the address's to say.
    /// - Throws: `RenderProblem`; the delivery is then `refused`.
    public func render(_ context: RenderContext, to target: NativeTarget) throws(RenderProblem) -> RenderedPush {
        let preferred = definition.audience.selection.provider ?? providers[0]
        guard let content = editions[0][0][preferred]?.content else { throw .noContent(preferred) }
        let request = ContentRequest(
            scope: TemplateScope(context: context, device: nil),
            kind: definition.audience.kind,
            identity: ProviderIdentity(),
            collapse: collapse,
            app: definition.app
        )
        return try content.render(to: target, request)
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
        let id = try collapse.text(context)
        return id.isEmpty ? nil : CollapseKey(ruleID: ruleID, audience: audience, collapse: id)
    }

    /// The key under which an event is gathered with others.
    ///
    /// - Parameter context: the event.
    /// - Returns: nil if the rule does not gather.
    /// - Throws: `RenderProblem` if a value for `by` is missing, or makes no key.
    public func digestKey(_ context: RenderContext) throws(RenderProblem) -> String? {
        guard let key = try gatheredBy?.text(context) else { return nil }
        guard (1...DigestDefinition.keyLimit).contains(key.utf8.count) else {
            throw .digestKey(bytes: key.utf8.count, limit: DigestDefinition.keyLimit)
        }
        return key
    }

    private static func gatheredBy(_ digest: DigestDefinition?) throws(RuleProblem) -> TextTemplate? {
        guard let digest else { return nil }
        let template = try TextTemplate(digest.by, path: digest.byPath)
        guard !template.dependsOnDevice else {
            let hint = "use names of the payload only"
            throw RuleProblem(path: digest.byPath, reason: "depends on a device", hint: hint)
        }
        return template
    }

    private static func collapse(_ definition: RuleDefinition) throws(RuleProblem) -> TextTemplate? {
        guard let source = definition.collapse else { return nil }
        let template = try TextTemplate(source, path: "collapse")
        guard !template.dependsOnDevice, !(RuleNames.isOfCampaign(definition.name) && template.usesVariables) else {
            throw RuleProblem(path: "collapse", reason: "depends on a device", hint: "use names of the payload only")
        }
        let fault = template.literal.map { CollapseID.fault(in: $0) }
        if let reason = fault ?? CollapseID.fault(inPart: template.fixedText) {
            let hint = "use up to \(CollapseID.limit) printable ASCII characters"
            throw RuleProblem(path: "collapse", reason: reason, hint: hint)
        }
        return template
    }
}

extension AudienceDefinition {
    /// The providers it can reach.
    ///
    /// - Returns: at least one, in the order of ``Providers/all``.
    /// - Throws: `RuleProblem` if there is no provider of its `provider`, or none that has tokens of its `kind`.
    fileprivate func providers() throws(RuleProblem) -> [any Provider] {
        if let own = selection.provider { return Providers.all.filter { $0.name == own } }
        guard let name = provider else { return Providers.all.filter { $0.kinds.contains(kind) } }
        guard let provider = Providers.named(name.rawValue) else {
            throw RuleProblem(
                path: "to.provider",
                reason: "'\(name.rawValue.prefix(80))' is not one of its values",
                hint: NearestName.hint(for: name.rawValue, among: Providers.names.map(\.rawValue))
            )
        }
        guard provider.kinds.contains(kind) else {
            let owners = Providers.all.filter { $0.kinds.contains(kind) }.map(\.name.rawValue)
            throw RuleProblem(
                path: "to.kind",
                reason:
                    "\(kind.rawValue) is a kind of \(owners.joined(separator: ", ")) tokens, not of \(name.rawValue)",
                hint: "remove kind or provider"
            )
        }
        return [provider]
    }
}
