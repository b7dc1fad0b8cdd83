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
        let locale = matchedLocale.map { "locale \($0)" } ?? "default language"
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
