/// A page of the console: its template's name, and what of it is sent again by itself.
enum LivePage: String, CaseIterable, Sendable {
    case overview, events, event, person, campaigns, campaign, devices, device, rules, rule, providers

    /// Its parts, from the top; each is rendered with the whole page's context, and is one element.
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

/// A part of a page that is sent again by itself.
struct LivePart: Sendable {
    /// Of the element that it replaces.
    let id: String
    let template: String

    init(_ id: String, _ template: String) {
        self.id = id
        self.template = template
    }
}
