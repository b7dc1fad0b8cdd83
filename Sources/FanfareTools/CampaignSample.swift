internal import FanfareCampaigns
package import FanfareConfiguration
package import FanfareCore
internal import FanfareProviders
package import FanfareStore
internal import PostgresClient
internal import Threading

/// Somebody to whom a campaign's message is shown: a row of its query.
package struct CampaignSample: Sendable {
    /// The user; nil where the campaign has no `audience_sql`, or names nobody.
    package var userID: String?
    /// What the query says of that user.
    package var variables = JSONObject()
    /// A row of `payload_sql`.
    package var payload = JSONObject()
    /// Why there is none, for people.
    package var problem: String?

    /// Nobody in particular.
    package init() {}

    /// The same without what it says of anybody.
    package var masked: CampaignSample {
        var masked = self
        if userID != nil { masked.userID = "…" }
        masked.variables = Self.masked(variables)
        masked.payload = Self.masked(payload)
        return masked
    }

    private static func masked(_ object: JSONObject) -> JSONObject {
        var masked = JSONObject()
        for member in object.members {
            masked[member.key] = member.value.objectValue.map { .object(Self.masked($0)) } ?? .string("…")
        }
        return masked
    }
}

extension CampaignRow {
    /// What is in force, or else what was put; nil where it makes no sense to this version of Fanfare.
    private var shown: CampaignDefinition? { try? CampaignDefinition(json: inForce ?? newest) }

    /// The names of its variants.
    package var variantNames: [String] { shown?.rule.definition.groups.variants.map(\.name) ?? [] }
    /// The languages that it has texts of its own for.
    package var localeNames: [String] { shown?.rule.definition.locales.keys ?? [] }
    /// Whether a query says what its message names.
    package var hasQuery: Bool { shown.map { $0.audienceSQL != nil || $0.payloadSQL != nil } ?? false }
    /// Whether it asks for users.
    package var namesUsers: Bool { shown?.audienceSQL != nil }

    /// Renders it as if it were started now.
    ///
    /// - Parameters:
    ///   - sample: for whom.
    ///   - locale: the language of the device; nil for none.
    ///   - configuration: has the apps' APNs topics.
    /// - Returns: one message for each variant and provider; none where it makes no sense to this version of Fanfare.
    /// - Throws: ``ToolError`` where too much is rendered.
    package func messages(
        for sample: CampaignSample,
        locale: String?,
        _ configuration: Configuration
    ) async throws(ToolError) -> [RuleExplanation] {
        guard let definition = shown else { return [] }
        let now = Timestamp(microseconds: Clocks.wallSeconds * 1_000_000)
        let payload = definition.payload(with: sample.payload, at: now)
        var example = ExampleEvent(payload: JSONValue.object(payload).text)
        // Somebody's: nobody in particular.
        example.userID = sample.userID ?? "…"
        example.locale = locale
        example.variables = sample.variables
        let set = RuleSet(entries: [.init(source: nil, compiled: definition.rule)])
        return try await set.explain(example, configuration)
    }
}

extension ToolDatabase {
    /// What a campaign's query may take for a page.
    private static let sampleTime = "2s"

    /// Takes a row of a campaign's query, with the rights of the program: the query is run as when it fires, and ended after its first row.
    ///
    /// - Parameters:
    ///   - row: the campaign.
    ///   - user: whose row; nil for any.
    /// - Returns: the row, or why there is none.
    /// - Throws: ``ToolError`` if the database cannot be asked.
    package func sample(of row: CampaignRow, user: String?) async throws(ToolError) -> CampaignSample {
        guard let definition = try? CampaignDefinition(json: row.inForce ?? row.newest) else { return CampaignSample() }
        return try await asProgram.run { connection throws(PostgresError) in
            // Its settings would be the next caller's.
            defer { connection.close() }
            try connection.set(
                SessionSettings([
                    ("default_transaction_read_only", "on"), ("statement_timeout", Self.sampleTime), ("jit", "off"),
                ])
            )
            var sample = CampaignSample()
            do throws(PostgresError) {
                if let query = definition.audienceSQL {
                    let found = try CampaignSamples.recipient(of: query, user: user, on: connection)
                    (sample.userID, sample.variables) = (found?.user, Self.object(found?.variables))
                    if found == nil {
                        sample.problem = "The query names \(user.map { "no user \($0)" } ?? "nobody") now."
                    }
                }
                if let query = definition.payloadSQL {
                    let found = try CampaignSamples.payload(of: query, on: connection)
                    sample.payload = Self.object(found)
                    if found == nil { sample.problem = "The query gives no row now." }
                }
            } catch {
                guard error.sqlState != nil, !error.isTransient || error.sqlState == "57014" else { throw error }
                sample.problem =
                    error.sqlState == "57014"
                    ? "The query takes longer than \(Self.sampleTime)." : "The query fails: \(error.message)."
            }
            return sample
        }
    }

    private static func object(_ text: String?) -> JSONObject {
        text.flatMap { try? JSONValue(parsing: $0) }?.objectValue ?? JSONObject()
    }
}
