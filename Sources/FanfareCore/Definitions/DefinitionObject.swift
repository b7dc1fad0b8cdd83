/// An object with a fixed set of keys: a rule, a campaign, a policy, or an object within one.
package enum DefinitionObject: String, CaseIterable, Sendable {
    case rule
    /// A rule that Fanfare makes from a campaign, which has names and an audience that no author may write.
    case campaignRule = "campaign_rule"
    case audience
    /// The audience of a ``campaignRule``.
    case stagedAudience = "staged_audience"
    case quietHours = "quiet_hours"
    case variant
    case digest
    case debounce
    case campaign
    case schedule
    case rate
    case ramp
    case canary
    case policy
    case cap
    case providerPolicy = "provider_policy"

    /// Its keys, in the order in which they are checked and described.
    package var keys: [DefinitionKey] {
        switch self {
        case .rule: DefinitionKey.rule
        case .campaignRule: DefinitionKey.campaignRule
        case .audience: DefinitionKey.audience
        case .stagedAudience: DefinitionKey.stagedAudience
        case .quietHours: DefinitionKey.quietHours
        case .variant: DefinitionKey.variant
        case .digest: DefinitionKey.digest
        case .debounce: DefinitionKey.debounce
        case .campaign: DefinitionKey.campaign
        case .schedule: DefinitionKey.schedule
        case .rate: DefinitionKey.rate
        case .ramp: DefinitionKey.ramp
        case .canary: DefinitionKey.canary
        case .policy: DefinitionKey.policy
        case .cap: DefinitionKey.cap
        case .providerPolicy: DefinitionKey.providerPolicy
        }
    }

    /// The objects that authors may write, which `fanfare.definition_keys` lists.
    package static var written: [DefinitionObject] {
        allCases.filter { ![.campaignRule, .stagedAudience].contains($0) }
    }
}
