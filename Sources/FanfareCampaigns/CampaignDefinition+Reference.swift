internal import FanfareCore

extension CampaignDefinition {
    /// The keys of a campaign that a rule does not have, as a Markdown list for the documentation.
    package static var reference: String {
        DefinitionObject.campaign.keys
            .filter { !DefinitionKey.namesOfItsRule.contains($0.name) }
            .flatMap { $0.described() }
            .map(\.reference)
            .joined(separator: "\n")
    }
}
