internal import FanfareCampaigns
package import FanfareConfiguration
package import FanfareCore
internal import FanfareProviders
package import FanfareRecords
internal import FanfareStore
package import FanfareTools
internal import PostgresClient
internal import Threading

/// A row of a campaign's query, for which its message is shown.
package struct CampaignSample: Sendable {
    /// The user; nil if the campaign has no `audience_sql`, or the query returned no row.
    package var userID: String?
    /// The variables that the query returned for that user.
    package var variables = JSONObject()
    /// The row that `payload_sql` returned.
    package var payload = JSONObject()
    /// Why there is no row, as text for people.
    package var problem: String?

    /// Makes a sample without a user.
    package init() {}

    /// The same sample without values of users.
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
    /// The definition in force, else the newest; nil if this version of Fanfare cannot read it.
    private var shown: CampaignDefinition? { try? CampaignDefinition(json: inForce ?? newest) }

    /// The names of the variants.
    package var variantNames: [String] { shown?.rule.definition.groups.variants.map(\.name) ?? [] }
    /// The locales that the message has texts for.
    package var localeNames: [String] { shown?.rule.definition.locales.keys ?? [] }
    /// Whether a query supplies values for the message.
    package var hasQuery: Bool { shown.map { $0.audienceSQL != nil || $0.payloadSQL != nil } ?? false }
    /// Whether a query selects the users.
    package var namesUsers: Bool { shown?.audienceSQL != nil }

    /// Renders the message as if the campaign were started now.
    ///
    /// - Parameters:
    ///   - sample: the row to render for.
    ///   - locale: the device's language; nil for none.
    ///   - configuration: supplies the apps' APNs topics.
    /// - Returns: one message for each variant and provider; none if this version of Fanfare cannot read the
    ///   definition.
    /// - Throws: ``ToolError`` if the messages exceed a size or time limit, or too many requests wait.
    package func messages(
        for sample: CampaignSample,
        locale: String?,
        _ configuration: Configuration
    ) async throws(ToolError) -> [RuleExplanation] {
        guard let definition = shown else { return [] }
        let now = Timestamp(microseconds: Clocks.wallSeconds * 1_000_000)
        let payload = definition.payload(with: sample.payload, at: now)
        var example = ExampleEvent(payload: JSONValue.object(payload).text)
        // A placeholder for the user.
        example.userID = sample.userID ?? "…"
        example.locale = locale
        example.variables = sample.variables
        let set = RuleSet(definition.rule)
        return try await set.explain(example, configuration)
    }
}

extension ToolDatabase {
    /// The time limit of a campaign's query for a page.
    private static let sampleTime = "2s"

    /// Fetches one row of a campaign's query, with the rights of the program: the query runs as it does when the
    /// campaign fires, and ends after its first row.
    ///
    /// - Parameters:
    ///   - row: the campaign.
    ///   - user: the user whose row is wanted; nil for any.
    /// - Returns: the row, or why there is none.
    /// - Throws: ``ToolError`` if the database cannot be queried.
    package func sample(of row: CampaignRow, user: String?) async throws(ToolError) -> CampaignSample {
        guard let definition = try? CampaignDefinition(json: row.inForce ?? row.newest) else { return CampaignSample() }
        return try await asProgram.run { connection throws(PostgresError) in
            // The session's settings must not reach the next caller.
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
