public import FanfareCore
internal import FanfareProviders
internal import FanfareService
internal import FanfareStore
internal import Foundation
internal import PostgresClient
internal import Threading

/// An event that was never emitted, and a device that may not exist.
public struct ExampleEvent: Sendable {
    /// The payload, a JSON object as text.
    public var payload: String
    /// Its key.
    public var key: String?
    /// The device's locale.
    public var locale: String?
    /// What the device's token is for; nil for what the rule is for.
    public var kind: DeviceKind?
    /// The device's user.
    public var userID: String?
    /// What a campaign's query says of the user.
    var variables = JSONObject()

    /// Makes an event.
    ///
    /// - Parameter payload: a JSON object as text.
    public init(payload: String) {
        self.payload = payload
    }
}

/// What one rule would send to one device through one provider.
public struct RuleExplanation: Sendable {
    /// The rule's app.
    public let app: String
    /// The rule's name.
    public let rule: String
    /// Who would be asked to deliver it.
    public let provider: PushProvider
    /// Which of the rule's variants it is; nil where it has none.
    public let variant: String?
    /// The rule's tag that serves the locale; nil for the message without one.
    public let matchedLocale: String?
    /// The request's headers, but for `authorization` and those that differ by request or belong to the encryption.
    public let headers: [(name: String, value: String)]
    /// The request's body, compact JSON; for Web Push before it is encrypted.
    public let body: String
    /// Why nothing would be sent; nil if it would.
    public let problem: String?

    /// The bytes of names and values of the headers.
    public var headerBytes: Int { headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count } }

    /// All of it as JSON.
    public var json: JSONValue {
        var headerObject = JSONObject()
        for header in headers { headerObject[header.name] = .string(header.value) }
        return [
            "app": .string(app), "rule": .string(rule), "provider": .string(provider.rawValue),
            "variant": JSONValue(orNull: variant), "locale": JSONValue(orNull: matchedLocale),
            "headers": .object(headerObject), "header_bytes": JSONValue(Int64(headerBytes)),
            "body": (try? JSONValue(parsing: body)) ?? .null, "body_bytes": JSONValue(Int64(body.utf8.count)),
            "problem": JSONValue(orNull: problem),
        ]
    }

    /// The request for people.
    public var text: String {
        let edition = variant.map { "  variant \($0)" } ?? ""
        let locale = matchedLocale.map { "locale \($0)" } ?? "no locale's own text"
        var lines = ["\(app)/\(rule)  \(provider.rawValue)\(edition)  \(locale)"]
        if let problem { return (lines + ["  nothing is sent: \(problem)"]).joined(separator: "\n") }
        lines += headers.map { "  \($0.name): \(TextTable.printable($0.value))" }
        lines.append(
            "  (\(headerBytes) bytes of headers; \(Providers.named(provider.rawValue)?.addedHeaders ?? "nothing is") added to each request)"
        )
        if isSilent { lines.append("  (silent: it wakes the app when iOS sees fit, and shows nothing)") }
        lines.append("")
        lines += Self.indented(body).split(separator: "\n").map { "  " + TextTable.printable(String($0)) }
        let note = Providers.named(provider.rawValue)?.bodyNote ?? ""
        lines.append("  (\(body.utf8.count) bytes of body\(note))")
        return lines.joined(separator: "\n")
    }

    /// Whether it shows nothing, and only wakes the app.
    package var isSilent: Bool {
        Providers.named(provider.rawValue)?.isSilent(headers) ?? false
    }

    /// How many bytes the body may have; nil where the provider does not count all of it.
    package var bodyLimit: Int? { Providers.named(provider.rawValue)?.bodyLimit(headers) }

    private static func indented(_ body: String) -> String {
        (try? JSONValue(parsing: body))?.indented() ?? body
    }
}

extension RuleSet {
    /// The rules of one name, app or event type.
    ///
    /// - Parameters:
    ///   - rule: the name; nil for all.
    ///   - app: the app; nil for all.
    ///   - type: the event's type; nil for all.
    /// - Returns: at least one rule.
    /// - Throws: ``ToolError`` if there is none.
    public func only(rule: String?, app: String?, type: String? = nil) throws(ToolError) -> RuleSet {
        let found = entries.filter { entry in
            (rule == nil || entry.id.name == rule) && (app == nil || entry.id.app == app)
                && (type == nil || entry.compiled.definition.event == type)
        }
        guard !found.isEmpty else {
            let known = entries.map { "\($0.id.app)/\($0.id.name)" }.joined(separator: ", ")
            throw ToolError(.failed, "there is no such rule", hint: known.isEmpty ? "" : "There are: \(known).")
        }
        return RuleSet(entries: found)
    }

    /// The rules that take an event.
    ///
    /// - Parameter judgements: of all of these rules, in their order.
    /// - Returns: perhaps none.
    public func matched(_ judgements: [RuleJudgement]) -> RuleSet {
        RuleSet(entries: zip(entries, judgements).filter { $0.1.isMatched }.map(\.0))
    }

    /// Renders what every rule would send; nothing is sent, no database is asked.
    ///
    /// - Parameters:
    ///   - example: the event and the device.
    ///   - topic: the APNs topic of an app; nil if it is not known.
    /// - Returns: one explanation for each variant of each rule and each provider that it has something for; for one that has
    ///   nothing for any, the reason.
    /// - Throws: ``ToolError`` of kind `usage` if the payload is no JSON object.
    public func explain(
        _ example: ExampleEvent,
        topic: (String) -> String?
    ) throws(ToolError) -> [RuleExplanation] {
        let payload = try ToolJSON.object(example.payload, named: "--event")
        let now = Clocks.wallSeconds
        return entries.flatMap { entry in
            let rule = entry.compiled
            let context = rule.exampleContext(example, payload, now: now)
            let device = DeviceContext(
                deviceID: 1,
                userID: example.userID,
                locale: example.locale,
                variables: example.variables
            )
            let names = rule.definition.groups.variants.map(\.name)
            return (0..<max(1, names.count)).flatMap { variant in
                let all = rule.platforms.map { platform in
                    let rendered = Result { () throws(RenderProblem) in
                        try rule.explain(
                            context,
                            platform: platform,
                            example: example,
                            topic: topic(entry.id.app) ?? "(topic of \(entry.id.app))",
                            device: device,
                            variant: variant
                        )
                    }
                    return (platform, rendered)
                }
                let sent = all.filter { $0.1 != .failure(.noContent($0.0)) }
                return (sent.isEmpty ? Array(all.prefix(1)) : sent).map { platform, rendered in
                    RuleExplanation(
                        entry,
                        provider: platform,
                        variant: names.isEmpty ? nil : names[variant],
                        locale: rule.matchedLocale(for: example.locale),
                        rendered
                    )
                }
            }
        }
    }
}

/// What is compared and shown of a push.
private struct ExplainedPush: Equatable {
    let headers: [[String]]
    let body: [UInt8]
}

extension Gathering {
    /// What an event that was gathered alone becomes: the same as `fanfare.emit_gathered` makes of it.
    fileprivate static func payload(ofOne payload: JSONObject, at seconds: Int64) -> JSONObject {
        var made = payload
        made["events"] = [.object(payload)]
        made["count"] = 1
        made["since"] = .string(Date(timeIntervalSince1970: TimeInterval(seconds)).ISO8601Format())
        return made
    }
}

extension CompiledRule {
    /// What templates may name of an event that was never emitted; of a rule that gathers, of what is made of it alone.
    func exampleContext(_ example: ExampleEvent, _ payload: JSONObject, now: Int64) -> RenderContext {
        RenderContext(
            eventID: EventID(rawValue: 1),
            eventType: definition.gathering == nil ? definition.event : Gathering.eventType(of: definition),
            eventKey: definition.gathering == nil ? example.key : nil,
            payload: definition.gathering == nil ? payload : Gathering.payload(ofOne: payload, at: now),
            expiration: definition.ttl.map { now + $0.seconds },
            now: now,
            time: now
        )
    }

    /// What tells with which others an event that was never emitted would be gathered.
    ///
    /// - Returns: nil if the rule does not gather.
    /// - Throws: `RenderProblem` where it would be refused.
    func gatheringKey(_ example: ExampleEvent, _ payload: JSONObject) throws(RenderProblem) -> String? {
        try gatheringKey(
            RenderContext(
                eventID: EventID(rawValue: 1),
                eventType: definition.event,
                eventKey: example.key,
                payload: payload
            )
        )
    }

    /// Renders for a device that is made up, or for the audience that the provider keeps.
    fileprivate func explain(
        _ context: RenderContext,
        platform: PushProvider,
        example: ExampleEvent,
        topic: String,
        device: DeviceContext,
        variant: Int
    ) throws(RenderProblem) -> ExplainedPush {
        let identity = ProviderIdentity(topic: topic)
        let provider = Providers.named(platform.rawValue)
        let push: RenderedPush
        let address: PushAddress?
        if case .native(let audience) = audience {
            let native = try audience.target(context)
            push = try render(context, to: native)
            address = provider?.address(of: native, as: identity)
        } else {
            push = try render(
                context,
                platform: platform,
                kind: example.kind ?? definition.audience.kind,
                locale: example.locale,
                identity: identity,
                device: device,
                variant: variant
            )
            address = provider?.address(of: Recipient(token: "…", p256dh: nil, auth: nil), as: identity)
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

extension ToolDatabase {
    /// The rules that are stored, each in its newest version.
    ///
    /// - Parameter app: of this app; nil for all.
    /// - Returns: those that make sense.
    /// - Throws: ``ToolError``.
    public func ruleSet(app: String?) async throws(ToolError) -> RuleSet {
        let rows = try await run { connection throws(PostgresError) in
            try connection.run(StoredRules(apps: app.map { [$0] }))
        }
        let entries = rows.compactMap { row -> RuleSet.Entry? in
            guard let compiled = try? CompiledRule(json: row.definition) else { return nil }
            return RuleSet.Entry(source: nil, compiled: compiled)
        }
        return RuleSet(entries: entries)
    }
}
