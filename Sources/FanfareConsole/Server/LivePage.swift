/// A page of the console: the name of its template, and the parts that the stream updates.
enum LivePage: String, CaseIterable, Sendable {
    case overview, events, event, person, campaigns, campaign, devices, device, rules, rule, providers

    /// The parts from the top; each is one element, rendered with the whole page's context.
    var parts: [LivePart] {
        switch self {
        case .overview:
            [
                LivePart("live-health", "health"), LivePart("live-figures", "figures"),
                LivePart("live-charts", "overview-charts"), LivePart("live-campaigns", "overview-campaigns"),
                LivePart("live-lanes", "overview-lanes"), LivePart("live-outcomes", "ended"),
                LivePart("live-daemons", "overview-daemons"),
            ]
        case .events: [LivePart("live-rows", "event-rows")]
        case .event:
            [
                LivePart("live-head", "event-head"), LivePart("live-trace", "event-trace"),
                LivePart("live-audience", "event-audience"), LivePart("live-outcomes", "event-outcomes"),
                LivePart("live-variants", "variants"),
                LivePart("live-deliveries", "event-deliveries"),
            ]
        case .person: [LivePart("live-deliveries", "person-deliveries")]
        case .campaigns: [LivePart("live-runs", "campaign-runs"), LivePart("live-calendar", "campaign-calendar")]
        case .campaign:
            [
                LivePart("live-head", "campaign-head"), LivePart("live-progress", "campaign-progress"),
                LivePart("live-canary", "canary"), LivePart("live-variants", "variants"),
                LivePart("live-outcomes", "ended"), LivePart("live-runs", "runs"),
            ]
        case .devices:
            [
                LivePart("live-counts", "device-counts"), LivePart("live-fuses", "fuses"),
                LivePart("live-disabled", "device-disabled"), LivePart("live-reasons", "device-reasons"),
            ]
        case .device, .rules, .rule: []
        case .providers:
            [
                LivePart("live-providers", "provider-cards"), LivePart("live-charts", "provider-charts"),
                LivePart("live-reasons", "provider-reasons"),
            ]
        }
    }
}

/// A part of a page that the stream updates.
struct LivePart: Sendable {
    /// The id of the element that it replaces.
    let id: String
    let template: String

    init(_ id: String, _ template: String) {
        self.id = id
        self.template = template
    }
}
