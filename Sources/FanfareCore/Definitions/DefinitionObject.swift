/// An object with a fixed set of keys: a rule, a campaign, a policy, a message, or an object within one.
package enum DefinitionObject: String, CaseIterable, Sendable {
    case rule
    /// A rule that Fanfare makes from a campaign or a message, which has a name and an audience that no author may write.
    case madeRule = "made_rule"
    case audience
    /// The audience of a ``madeRule``.
    case stagedAudience = "staged_audience"
    case quietHours = "quiet_hours"
    case variant
    case digest
    case debounce
    case retractOn = "retract_on"
    case conversion
    case campaign
    case schedule
    case rate
    case ramp
    case canary
    case experiment
    case policy
    case cap
    case providerPolicy = "provider_policy"
    /// A message that is sent without a rule.
    case send
    /// The audience of a ``send``.
    case sendAudience = "send_audience"

    /// Its keys, in the order in which they are checked and described.
    package var keys: [DefinitionKey] {
        switch self {
        case .rule: DefinitionKey.rule
        case .madeRule: DefinitionKey.madeRule
        case .audience: DefinitionKey.audience
        case .stagedAudience: DefinitionKey.stagedAudience
        case .quietHours: DefinitionKey.quietHours
        case .variant: DefinitionKey.variant
        case .digest: DefinitionKey.digest
        case .debounce: DefinitionKey.debounce
        case .retractOn: DefinitionKey.retractOn
        case .conversion: DefinitionKey.conversion
        case .campaign: DefinitionKey.campaign
        case .schedule: DefinitionKey.schedule
        case .rate: DefinitionKey.rate
        case .ramp: DefinitionKey.ramp
        case .canary: DefinitionKey.canary
        case .experiment: DefinitionKey.experiment
        case .policy: DefinitionKey.policy
        case .cap: DefinitionKey.cap
        case .providerPolicy: DefinitionKey.providerPolicy
        case .send: DefinitionKey.send
        case .sendAudience: DefinitionKey.sendAudience
        }
    }

    /// The objects that authors may write, which `fanfare.definition_keys` lists.
    package static var written: [DefinitionObject] {
        allCases.filter { ![.madeRule, .stagedAudience].contains($0) }
    }
}
