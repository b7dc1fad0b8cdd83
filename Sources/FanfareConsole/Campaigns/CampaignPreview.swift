internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareDaemon
internal import FanfareExplain
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareTools

/// A campaign's message, rendered for one recipient.
struct CampaignPreview: ViewContext {
    /// The choice of variant, language and recipient; nil without alternatives.
    let form: FilterForm?
    /// The recipient that it is rendered for, or the reason why it cannot be rendered.
    let note: String?
    let screens: NotificationPreviews?
}

extension CampaignPreview {
    /// Renders a campaign's message for the recipient, variant and language in the address.
    ///
    /// - Parameters:
    ///   - row: the campaign.
    ///   - visit: the request's visit.
    /// - Throws: ``ToolError``.
    init(_ row: CampaignRow, _ visit: Visit) async throws {
        let isShown = visit.session.may(.operator)
        let chosen = visit.filter("variant").flatMap { row.variantNames.contains($0) ? $0 : nil }
        let variant = chosen ?? row.variantNames.first
        let locale = visit.filter("locale").flatMap { row.localeNames.contains($0) ? $0 : nil }
        let user = isShown && row.namesUsers ? visit.filter("as") : nil
        var sample = CampaignSample()
        if row.hasQuery {
            let key = ConsoleQueries.Sample(id: row.id, version: row.version, user: user)
            sample = try await visit.queries.samples.value(for: key) { [database = visit.database] in
                try await database.sample(of: row, user: user)
            }
            // A reader's token must not see the values that the query returns for a user.
            if !isShown { sample = sample.masked }
        }
        let messages = try await row.messages(for: sample, locale: locale, visit.call.context.daemon.configuration())
        var fields: [FilterField] = []
        if row.variantNames.count > 1 {
            fields.append(.choice("variant", "Variant", row.variantNames.map { ($0, $0) }, chosen: variant))
        }
        if !row.localeNames.isEmpty {
            let locales = [("", "default")] + row.localeNames.map { ($0, $0) }
            fields.append(.choice("locale", "Language", locales, chosen: locale ?? ""))
        }
        if isShown, row.namesUsers {
            fields.append(.typed("as", "Recipient", visit, example: "any user of the query"))
        }
        self.init(
            form: fields.isEmpty ? nil : FilterForm(to: visit.call.path, fields),
            note: Self.note(sample, row, isShown: isShown),
            screens: NotificationPreviews(messages.filter { $0.variant == variant })
        )
    }

    private static func note(_ sample: CampaignSample, _ row: CampaignRow, isShown: Bool) -> String? {
        if let problem = sample.problem { return problem }
        guard row.hasQuery else { return nil }
        guard isShown else {
            return "Values of the query are shown as …; a token with the scope operator sees a sample row."
        }
        return sample.userID.map { "Shown for \($0), from the query's current result." }
            ?? "Shown for a row of the query."
    }
}

extension FilterField {
    /// Returns a field to choose one of several values, where one is always chosen.
    fileprivate static func choice(
        _ name: String,
        _ label: String,
        _ values: [(value: String, label: String)],
        chosen: String?
    ) -> FilterField {
        let choices = values.map { Choice(value: $0.value, label: $0.label, isChosen: $0.value == chosen) }
        return FilterField(choice: ChoiceField(name: name, label: label, choices: choices))
    }
}
