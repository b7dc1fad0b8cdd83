internal import FanfareMetrics

/// What the pipeline measures: what swift-metrics is given.
package enum PipelineMetric: String, CaseIterable {
    /// By fate.
    case events = "fanfare.events"
    /// By app, provider, environment, lane and outcome.
    case pushes = "fanfare.pushes"
    /// By app, provider, outcome and reason.
    case pushFailures = "fanfare.push.failures"
    /// By app, provider and lane.
    case emitToAccepted = "fanfare.emit.to.accepted"
    /// By app, provider and environment.
    case requests = "fanfare.requests"
    case batchesClosed = "fanfare.batches.closed"
    /// By app, environment and reason.
    case devicesDisabled = "fanfare.devices.disabled"
    /// By check.
    case auditFindings = "fanfare.audit.findings"

    /// What it means.
    package var help: String {
        switch self {
        case .events: "Events that this daemon took out of the outbox, by what became of them."
        case .pushes:
            "Outcomes in batches that this daemon closed. What is tried again counts once for each attempt."
        case .pushFailures: "What a provider did not take of these, by the reason: to be tried again, gone, rejected."
        case .emitToAccepted:
            "Seconds from an event's emit until a provider took a push of it; not of what waits on purpose."
        case .requests: "Requests to providers that were answered or lost."
        case .batchesClosed: "Batches that this daemon moved into the log."
        case .devicesDisabled: "Devices disabled on a provider's evidence."
        case .auditFindings: "What the last audit found that should not be; none from daemons that do not audit."
        }
    }
    /// The upper bounds of a histogram's buckets, in seconds; nil for what is none.
    package var bounds: [Double]? {
        switch self {
        case .emitToAccepted:
            [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600]
        default: nil
        }
    }
}
