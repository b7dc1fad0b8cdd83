public import FanfareCore
internal import FanfareProviders
internal import FanfareRecords
package import FanfareTools
internal import PostgresClient

/// An example event and device; neither needs to exist.
public struct ExampleEvent: Sendable {
    /// The payload, a JSON object as text.
    public var payload: String
    /// The idempotency key.
    public var key: String?
    /// The device's locale.
    public var locale: String?
    /// The kind of the device; nil for the kind that the rule is for.
    public var kind: DeviceKind?
    /// The device's user.
    public var userID: String?
    /// The variables that a campaign's query returns for the user.
    var variables = JSONObject()

    /// Makes an event.
    ///
    /// - Parameter payload: a JSON object as text.
    public init(payload: String) {
        self.payload = payload
    }
}

/// The request that one rule would make for one device through one provider.
public struct RuleExplanation: Sendable {
    /// The rule's app.
    public let app: String
    /// The rule's name.
    public let rule: String
    /// The provider that the request goes to.
    public let provider: PushProvider
    /// The rule's variant; nil if it has none.
    public let variant: String?
    /// The rule's locale tag that matches the device's locale; nil for the message without one.
    public let matchedLocale: String?
    /// The request's headers, except `authorization`, headers that differ by request and headers of the encryption.
    public let headers: [(name: String, value: String)]
    /// The request's body as compact JSON; for Web Push before encryption.
    public let body: String
    /// Why nothing would be sent; nil if it would.
    public let problem: String?

    /// The size of the headers' names and values in bytes.
    public var headerBytes: Int { headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count } }

    /// The explanation as JSON.
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

    /// Whether the push shows nothing and only wakes the app.
    package var isSilent: Bool {
        Providers.named(provider.rawValue)?.isSilent(headers) ?? false
    }

    /// The size limit of the body in bytes; nil if the provider limits only a part of it.
    package var bodyLimit: Int? { Providers.named(provider.rawValue)?.bodyLimit(headers) }
}

extension ToolDatabase {
    /// Returns the stored rules, each in its newest version.
    ///
    /// - Parameter app: the app; nil for all.
    /// - Returns: the rules that this version of Fanfare can read.
    /// - Throws: ``ToolError``.
    package func ruleSet(app: String?) async throws(ToolError) -> RuleSet {
        let rows = try await rows(of: SQL.storedRules(app.map { [$0] }))
        return RuleSet(
            entries: rows.compactMap { row in
                (try? CompiledRule(json: row.definition)).map { .init(source: nil, definition: $0) }
            }
        )
    }
}
