import ArgumentParser
import FanfareTools

/// `fanfare rules`: rules from YAML files.
struct Rules: ParsableCommand, DefinitionCommands {
    typealias Definition = RuleSet.Kind

    static let configuration = CommandConfiguration(
        abstract: "Plan, apply and list rules.",
        subcommands: [PlanFiles<Self>.self, ApplyFiles<Self>.self, ListDefinitions<Self>.self]
    )
    static let plural = "rules"
    static let abstracts = (
        plan: "Check rules and show what applying would change.", list: "List rules, each with its newest version."
    )
}

/// `fanfare campaigns`: campaigns from YAML files, and their runs.
struct Campaigns: ParsableCommand, DefinitionCommands {
    typealias Definition = CampaignSet.Kind

    static let configuration = CommandConfiguration(
        abstract: "Plan, apply, list, explain, start and stop campaigns.",
        subcommands: [
            PlanFiles<Self>.self, ApplyFiles<Self>.self, ListDefinitions<Self>.self, Show.self, Explain.self,
            Start.self, Test.self, ChangeCampaign<Pause>.self, Resume.self, ChangeCampaign<Abort>.self,
            ChangeCampaign<Drop>.self,
        ]
    )
    static let plural = "campaigns"
    static let abstracts = (
        plan: "Check campaigns, show what applying would change, and when each would be due.",
        list: "List campaigns with their next and last runs."
    )
}

/// `fanfare policies`: the limits for all of an app's pushes, from YAML files.
struct Policies: ParsableCommand, DefinitionCommands {
    typealias Definition = PolicySet.Kind
    typealias Prune = NoPrune

    static let configuration = CommandConfiguration(
        abstract: "Plan, apply and list policies of apps: their rates, quiet hours, caps and time zones.",
        subcommands: [PlanFiles<Self>.self, ApplyFiles<Self>.self, ListDefinitions<Self>.self]
    )
    static let plural = "policies"
    static let abstracts = (
        plan: "Check policies and show what applying would change.", list: "List the policies of apps."
    )
    static let discussion = """
        Each replaces the app's policy; {} is none. Daemons apply it within a second, also to what is planned already.
        """
}
