package import FanfareMetrics

/// The metrics of the pipeline.
package enum PipelineMetric: String, CaseIterable {
    case events = "fanfare.events"
    case pushes = "fanfare.pushes"
    case pushFailures = "fanfare.push.failures"
    case emitToAccepted = "fanfare.emit.to.accepted"
    case requests = "fanfare.requests"
    case requestsInFlight = "fanfare.requests.in.flight"
    case connections = "fanfare.connections"
    case batchesClosed = "fanfare.batches.closed"
    case devicesDisabled = "fanfare.devices.disabled"
    case auditFindings = "fanfare.audit.findings"
    case reports = "fanfare.reports"
    case reportsRefused = "fanfare.reports.refused"
    case reportsIgnored = "fanfare.reports.ignored"

    /// The description of the metric, for the registry and for documentation.
    package var description: MetricDescription {
        MetricDescription(rawValue, help: help, bounds: bounds, kind: kind, labels: labels)
    }

    private var kind: MetricKind {
        switch self {
        case .auditFindings, .connections, .requestsInFlight: .gauge
        case .emitToAccepted: .histogram
        default: .counter
        }
    }

    private var labels: [String] {
        switch self {
        case .events: ["fate"]
        case .pushes: ["app", "provider", "environment", "lane", "outcome"]
        case .pushFailures: ["app", "provider", "outcome", "reason"]
        case .emitToAccepted: ["app", "provider", "lane"]
        case .requests, .requestsInFlight: ["app", "provider", "environment"]
        case .connections: ["app", "provider", "environment", "state"]
        case .batchesClosed, .reportsRefused, .reportsIgnored: []
        case .devicesDisabled: ["app", "environment", "reason"]
        case .auditFindings: ["check"]
        case .reports: ["kind"]
        }
    }

    private var help: String {
        switch self {
        case .events: "Events that this daemon took from the outbox, by fate."
        case .pushes:
            "Outcomes in batches that this daemon closed. A retried push counts once for each attempt."
        case .pushFailures: "Pushes that a provider did not accept: retried, gone or rejected, by reason."
        case .emitToAccepted:
            "Seconds from the emit of an event until a provider accepted a push of it. Excludes pushes of campaigns, and "
                + "pushes that were held by quiet hours or a snooze."
        case .requests: "Requests to providers that were answered or lost."
        case .requestsInFlight: "Requests to providers that are not answered yet; at most a second old."
        case .connections: "Connections to providers; at most a second old."
        case .batchesClosed: "Batches that this daemon moved into the log."
        case .devicesDisabled: "Devices disabled on a provider's evidence."
        case .auditFindings: "Findings of the last audit; absent on daemons that do not audit."
        case .reports:
            "Reports that this daemon took from devices, by kind. A report counts each time that it is sent, also if it is ignored."
        case .reportsRefused: "Reports that this daemon refused because their key is void."
        case .reportsIgnored:
            "Reports that this daemon took from devices and did not store: the handle is not genuine, or of another app, or the user "
                + "is not tracked."
        }
    }

    /// The upper bounds of a histogram's buckets, in seconds; nil for other metrics.
    package var bounds: [Double]? {
        switch self {
        case .emitToAccepted:
            [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600]
        default: nil
        }
    }
}
