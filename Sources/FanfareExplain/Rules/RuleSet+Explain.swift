package import FanfareConfiguration
internal import FanfareCore
internal import FanfareProviders
package import FanfareTools
internal import Foundation
internal import Threading

extension RuleSet {
    /// Selects the rules of one name, app or event type.
    ///
    /// - Parameters:
    ///   - rule: the name; nil for all.
    ///   - app: the app; nil for all.
    ///   - type: the event's type; nil for all.
    /// - Returns: at least one rule.
    /// - Throws: ``ToolError`` if there is none.
    package func only(rule: String?, app: String?, type: String? = nil) throws(ToolError) -> RuleSet {
        let found = entries.filter { entry in
            (rule == nil || entry.id.name == rule) && (app == nil || entry.id.app == app)
                && (type == nil || entry.definition.definition.event == type)
        }
        guard !found.isEmpty else {
            let known = entries.map { "\($0.id.app)/\($0.id.name)" }.joined(separator: ", ")
            throw ToolError(.failed, "there is no such rule", hint: known.isEmpty ? "" : "There are: \(known).")
        }
        return RuleSet(entries: found)
    }

    /// Selects the rules that match an event.
    ///
    /// - Parameter judgements: the judgements of these rules, in their order.
    /// - Returns: the matching rules; may be empty.
    package func matched(_ judgements: [RuleJudgement]) -> RuleSet {
        RuleSet(entries: zip(entries, judgements).filter { $0.1.isMatched }.map(\.0))
    }

    /// Renders every rule's requests; sends nothing and queries no database.
    ///
    /// - Parameters:
    ///   - example: the event and the device.
    ///   - topic: returns the APNs topic of an app; nil if it is unknown.
    ///   - asksForPreview: returns whether an app asks for FCM's coming form of messages.
    /// - Returns: one explanation for each variant of each rule and each provider that it has a message for; for a rule
    ///   without a message, the reason.
    /// - Throws: ``ToolError`` of kind `usage` if the payload is not a JSON object.
    package func explain(
        _ example: ExampleEvent,
        topic: (String) -> String?,
        asksForPreview: (String) -> Bool = { _ in false }
    ) throws(ToolError) -> [RuleExplanation] {
        let payload = try ToolJSON.object(example.payload, as: .event)
        let (now, began) = (Clocks.wallSeconds, Clocks.steady)
        var explanations: [RuleExplanation] = []
        var bytes = 0
        for entry in entries {
            let identity = ProviderIdentity(
                topic: topic(entry.id.app) ?? "(topic of \(entry.id.app))",
                asksForPreview: asksForPreview(entry.id.app)
            )
            let own = explain(entry, example, payload, now: now, identity: identity)
            bytes += own.reduce(0) { $0 + $1.body.utf8.count }
            explanations += own
            guard bytes <= Self.explainedBytes, Clocks.steady - began < Self.explainTime else {
                throw ToolError(
                    .failed,
                    "the rules render too much to be shown together",
                    hint: "Explain one rule at a time."
                )
            }
        }
        return explanations
    }

    /// Renders on a thread of its own, for a server.
    ///
    /// - Parameters:
    ///   - example: the event and the device.
    ///   - configuration: supplies the apps' APNs topics.
    /// - Returns: as ``explain(_:topic:asksForPreview:)``.
    /// - Throws: as ``explain(_:topic:asksForPreview:)``, and ``ToolError`` of kind `unavailable` if too many requests wait.
    package func explain(
        _ example: ExampleEvent,
        _ configuration: Configuration
    ) async throws(ToolError) -> [RuleExplanation] {
        try await RenderThread.run { () throws(ToolError) in
            try explain(example) {
                configuration.apps[$0]?.apns?.topic
            } asksForPreview: {
                configuration.apps[$0]?.fcm?.usesAndroidV2 ?? false
            }
        }
    }

    /// The limits of one answer: the bytes of its bodies, and the time to render them.
    private static let explainedBytes = 4_194_304
    private static let explainTime = 5 * Micros.second

    private func explain(
        _ entry: Entry,
        _ example: ExampleEvent,
        _ payload: JSONObject,
        now: Int64,
        identity: ProviderIdentity
    ) -> [RuleExplanation] {
        let rule = entry.definition
        let context = rule.exampleContext(payload, key: example.key, now: now)
        let device = DeviceContext(
            deviceID: 1,
            userID: example.userID,
            locale: example.locale,
            variables: example.variables
        )
        let names = rule.definition.groups.variants.map(\.name)
        return (0..<max(1, names.count)).flatMap { variant in
            let all = rule.providers.map { provider in
                let rendered = Result { () throws(RenderProblem) in
                    try rule.explain(
                        context,
                        provider: provider,
                        example: example,
                        identity: identity,
                        device: device,
                        variant: variant
                    )
                }
                return (provider, rendered)
            }
            let sent = all.filter { $0.1 != .failure(.noContent($0.0)) }
            return (sent.isEmpty ? Array(all.prefix(1)) : sent).map { provider, rendered in
                RuleExplanation(
                    entry,
                    provider: provider,
                    variant: names.isEmpty ? nil : names[variant],
                    locale: rule.matchedLocale(for: example.locale),
                    rendered
                )
            }
        }
    }
}

/// The parts of a push that are compared and shown.
private struct ExplainedPush: Equatable {
    let headers: [[String]]
    let body: [UInt8]
}

extension CompiledRule {
    /// Returns the key of the digest that an example event would join.
    ///
    /// - Returns: nil if the rule has no digest.
    /// - Throws: `RenderProblem` if the event would be refused.
    func digestKey(_ example: ExampleEvent, _ payload: JSONObject) throws(RenderProblem) -> String? {
        try digestKey(
            RenderContext(
                eventID: EventID(rawValue: 1),
                eventType: definition.event,
                eventKey: example.key,
                payload: payload
            )
        )
    }

    /// Renders for an example device, or for the audience that the provider manages.
    fileprivate func explain(
        _ context: RenderContext,
        provider: PushProvider,
        example: ExampleEvent,
        identity: ProviderIdentity,
        device: DeviceContext,
        variant: Int
    ) throws(RenderProblem) -> ExplainedPush {
        let known = Providers.named(provider.rawValue)
        let push: RenderedPush
        let address: PushAddress?
        if case .native(let audience) = audience {
            let native = try audience.target(context)
            push = try render(context, to: native, identity: identity)
            address = known?.address(of: native, as: identity)
        } else {
            push = try render(
                context,
                provider: provider,
                kind: example.kind ?? definition.audience.kind,
                locale: example.locale,
                identity: identity,
                device: device,
                variant: variant
            )
            address = known?.address(of: Recipient(token: "…", p256dh: nil, auth: nil), as: identity)
        }
        var insertion: [UInt8] = []
        if case .shared(_, let bytes)? = address { insertion = bytes }
        return ExplainedPush(
            headers: push.headers.map { [$0.name, $0.value] },
            body: push.body + insertion + push.bodySuffix
        )
    }
}

extension RuleExplanation {
    fileprivate init(
        _ entry: RuleSet.Entry,
        provider: PushProvider,
        variant: String?,
        locale: String?,
        _ rendered: Result<ExplainedPush, RenderProblem>
    ) {
        let push = try? rendered.get()
        var problem: String?
        if case .failure(let reason) = rendered { problem = reason.description }
        self.init(
            app: entry.id.app,
            rule: entry.id.name,
            provider: provider,
            variant: variant,
            matchedLocale: locale,
            headers: push?.headers.map { (name: $0[0], value: $0[1]) } ?? [],
            body: push.map { String(decoding: $0.body, as: UTF8.self) } ?? "",
            problem: problem
        )
    }
}
