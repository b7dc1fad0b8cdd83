public import FanfareCore

/// A valid rule, ready to be rendered any number of times on any thread.
public struct CompiledRule: Sendable {
    /// The rule as written.
    public let definition: RuleDefinition
    /// The audience of the rule.
    public let audience: AudiencePlan
    /// Whether the message refers to a device or user field, so that it is rendered for each device instead of once per
    /// event, locale and kind.
    public let needsDevice: Bool
    /// Whether the message refers to columns of a campaign's `audience_sql`.
    package let needsVariables: Bool
    /// The providers that the rule can reach, for which its message was checked.
    public let providers: [PushProvider]
    /// The template of the key that groups events into digests; nil if the rule gathers none.
    private let gatheredBy: TextTemplate?
    /// The template of the collapse id; nil if the rule has none.
    let collapse: TextTemplate?
    private let locales: LocaleLookup
    /// One edition for each variant of the rule; a single one if the rule has none.
    private let editions: [Edition]
    /// The assignment of users to variants and holdout; nil if all users get the same.
    package let division: Division?

    /// The texts of one variant: the one without locale first, then one for each tag.
    private typealias Edition = [Text]
    /// The content of one locale by provider; providers without content are missing.
    private typealias Text = [PushProvider: Part]

    /// The content for one provider.
    private struct Part: Sendable {
        let content: any ProviderContent
        /// The kinds of tokens of the provider.
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
    /// - Throws: `RuleProblem` with the first error.
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
            // The common part of the message is valid by itself, but no device receives it.
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

    /// Likely mistakes in the message that are not errors, at most one for each provider.
    package var advice: [String] {
        providers.compactMap { provider in
            let found = editions.joined().lazy.compactMap { $0[provider]?.content.advice }
            return found.first.map { "message " + $0 }
        }
    }

    /// Returns whether a string of the message refers to a column of `audience_sql`.
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

    /// Checks that the message does not differ by device if a provider manages the audience and gets one request.
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

    /// Parses, checks and compiles a rule.
    ///
    /// - Parameter json: the rule as JSON.
    /// - Throws: `RuleProblem` with the first error.
    public init(json: JSONValue) throws(RuleProblem) {
        try self.init(definition: RuleDefinition(json: json))
    }

    /// Returns the rule's tag for a device; devices with the same tag, provider and kind form one variant.
    ///
    /// - Parameter locale: the device's locale, such as `es-MX`; nil if it has none.
    /// - Returns: the tag as the rule writes it, such as `es`; nil if the device gets the message without locale.
    public func matchedLocale(for locale: String?) -> String? {
        locales.index(for: locale).map { locales.tags[$0] }
    }

    /// Renders the push for the devices of one variant.
    ///
    /// - Parameters:
    ///   - context: the event.
    ///   - provider: the provider.
    ///   - kind: the kind of the tokens.
    ///   - locale: a device's locale, or the result of ``matchedLocale(for:)``.
    ///   - identity: the app's identity at the provider.
    ///   - device: the device; required if ``needsDevice``, unused otherwise.
    ///   - badge: the result of the rule's `badge_sql` for the device's user; nil leaves the message unchanged.
    ///   - variant: the index of the user's variant in the rule; 0 if it has none.
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

    /// Renders the single request to an audience that the provider manages.
    ///
    /// - Parameters:
    ///   - context: the event.
    ///   - target: the result of ``NativeAudience/target(_:)`` for the event.
    ///   - identity: the app's identity at the provider.
    /// - Returns: headers and body; the address holds the insertion.
    /// - Throws: `RenderProblem`; the delivery is then `refused`.
    package func render(
        _ context: RenderContext,
        to target: NativeTarget,
        identity: ProviderIdentity = ProviderIdentity()
    ) throws(RenderProblem) -> RenderedPush {
        let preferred = definition.audience.selection.provider ?? providers[0]
        guard let content = editions[0][0][preferred]?.content else { throw .noContent(preferred) }
        let request = ContentRequest(
            scope: TemplateScope(context: context, device: nil),
            kind: definition.audience.kind,
            identity: identity,
            collapse: collapse,
            app: definition.app
        )
        return try content.render(to: target, request)
    }

    /// Returns the key of the digest that an event belongs to.
    ///
    /// - Parameter context: the event.
    /// - Returns: nil if the rule does not gather events.
    /// - Throws: `RenderProblem` if a value for `by` is missing or cannot be a key.
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
}

extension AudienceDefinition {
    /// Returns the providers that the audience can reach.
    ///
    /// - Returns: at least one, in the order of ``Providers/all``.
    /// - Throws: `RuleProblem` if its `provider` does not exist, or no provider has tokens of its `kind`.
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
