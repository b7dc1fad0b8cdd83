internal import FanfareMetrics
internal import FanfareRecords

/// The metrics that `/metrics` reads on request, beside the daemon's counters.
enum FigureMetric: String, CaseIterable {
    case breakerOpen = "fanfare_breaker_open"
    case pruneFuseBlown = "fanfare_prune_fuse_blown"
    case leaseHeld = "fanfare_lease_held"
    case listening = "fanfare_listening"
    case listenProved = "fanfare_listen_proved_timestamp_seconds"
    case credentialExpires = "fanfare_credential_expires_timestamp_seconds"
    case databaseUp = "fanfare_database_up"
    case pending = "fanfare_pending_pushes"
    case oldestReady = "fanfare_oldest_ready_seconds"
    case oldestPending = "fanfare_oldest_pending_seconds"
    case campaignRuns = "fanfare_campaign_runs"
    case campaignPushes = "fanfare_campaign_pushes_remaining"
    case reportsPending = "fanfare_reports_pending"
    case daemonsAlive = "fanfare_daemons_alive"
    case healthProblems = "fanfare_health_problems"
    case buildInfo = "fanfare_build_info"
    case processCPU = "process_cpu_seconds_total"
    case processMemory = "process_resident_memory_bytes"
    case processDescriptors = "process_open_fds"
    case processStart = "process_start_time_seconds"

    /// The metric's description.
    var description: MetricDescription { MetricDescription(rawValue, help: help, kind: kind, labels: labels) }

    /// Whether the metric is read from the database, and is therefore the same from every daemon.
    var isOfDatabase: Bool {
        switch self {
        case .pending, .oldestReady, .oldestPending, .campaignRuns, .campaignPushes,
            .reportsPending, .daemonsAlive, .healthProblems:
            true
        default: false
        }
    }

    private var kind: MetricKind { self == .processCPU ? .counter : .gauge }

    private var labels: [String] {
        switch self {
        case .breakerOpen: ["app", "provider", "environment"]
        case .pruneFuseBlown: ["app", "environment"]
        case .credentialExpires: ["app", "credential"]
        case .pending: ["app", "provider", "environment", "lane", "state"]
        case .oldestReady: ["app", "provider", "environment", "lane"]
        case .oldestPending: ["lane"]
        case .campaignRuns: ["app", "state"]
        case .campaignPushes: ["app"]
        case .buildInfo: ["version"]
        default: []
        }
    }

    private var help: String {
        switch self {
        case .breakerOpen: "1 for each provider to which this daemon sends only probes; absent for the others."
        case .pruneFuseBlown:
            "1 for each app whose pruning is stopped because too many tokens were reported invalid; absent for the others."
        case .leaseHeld: "1 while this daemon may claim and send, else 0."
        case .listening: "1 while LISTEN is known to work, else 0."
        case .listenProved:
            "When LISTEN was last verified, in seconds since 1970; it is verified every 30 s while it works."
        case .credentialExpires:
            "When a credential expires, in seconds since 1970; absent for those that do not expire. The API's certificate has no "
                + "`app`."
        case .databaseUp: "1 while the database responds, else 0; at most 5 s old."
        case .pending: "Deliveries that are still to be sent."
        case .oldestReady:
            "Seconds since the oldest ready delivery was due. Deliveries that wait for their time, a gate or a rate are left out."
        case .oldestPending:
            "Seconds since the oldest batch was created, including batches that are held or not due yet."
        case .campaignRuns: "Unfinished runs of campaigns, without tests."
        case .campaignPushes: "Pushes without a final outcome, in runs that are sending."
        case .reportsPending:
            "Reports of devices that are stored and not counted yet; at most \(PendingReports.limit) are counted."
        case .daemonsAlive: "Daemons with a lease."
        case .healthProblems: "Rows of fanfare.health that are not ok."
        case .buildInfo: "Always 1; the label has the program's version."
        case .processCPU: "CPU time that the process has used, in seconds."
        case .processMemory: "Memory of the process that is in RAM, in bytes."
        case .processDescriptors: "File descriptors that are open."
        case .processStart: "When the process started, in seconds since 1970."
        }
    }

    /// Returns a metric with one value and no labels.
    func family(_ value: Double) -> MetricFamily { family([([], value)]) }

    /// Returns a metric with labelled values, which may be none.
    func family(_ values: [(labels: [MetricLabel], value: Double)]) -> MetricFamily {
        MetricFamily(rawValue, kind, help: isOfDatabase ? "\(help) \(Self.same)" : help, values: values)
    }

    private static let same = "The same from every daemon: use max."
}
