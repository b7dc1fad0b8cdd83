public import Logging

/// The metadata keys of Fanfare's log lines; part of the log contract (``LogLine/version``).
///
/// A key keeps its meaning and unit for ever; new ones may be added at any time.
public enum LogKey: String, CaseIterable, Sendable {
    /// Id of an event.
    case eventID = "event.id"
    /// Type of an event, such as `order.shipped`.
    case eventType = "event.type"
    /// Fate of an event.
    case eventFate = "event.fate"
    /// Id of the trace that an event is a part of, 32 hexadecimal digits; named as OpenTelemetry names it in logs.
    case traceID = "trace_id"
    /// Name of a rule.
    case ruleName = "rule.name"
    /// Version of a rule.
    case ruleVersion = "rule.version"
    /// Name of a campaign.
    case campaignName = "campaign.name"
    /// Version of a campaign.
    case campaignVersion = "campaign.version"
    /// Id of a batch.
    case batchID = "batch.id"
    /// Id of a device.
    case deviceID = "device.id"
    /// A short hash of a token, equal for equal tokens.
    case tokenHash = "token.hash"
    /// A short hash of a user's id: the first 8 hexadecimal digits of its SHA-256.
    case userHash = "user.hash"
    /// Which attempt this is, from 1.
    case attempt
    /// Name of an app.
    case app
    /// A provider's name, such as `apns`.
    case provider
    /// `production` or `sandbox`.
    case environment
    /// `transactional`, `normal` or `bulk`.
    case lane
    /// Outcome of a delivery.
    case outcome
    /// Why, as in the views: the provider's word, or Fanfare's own, of table `outcome_codes`.
    case reason
    /// Why, in words; holds no data.
    case detail
    /// HTTP status of an answer.
    case status
    /// Number of things the line is about.
    case count
    /// Milliseconds from an event's creation until the line's own time, both by the database's clock.
    case lagMilliseconds = "lag_ms"
    /// Milliseconds that something took.
    case durationMilliseconds = "duration_ms"
    /// Milliseconds until something is tried again.
    case retryMilliseconds = "retry_ms"
    /// Milliseconds by which this machine's clock is ahead of the database's; negative if it is behind.
    case clockAheadMilliseconds = "clock.ahead_ms"
    /// What went wrong; holds no secret.
    case error
    /// Where it went wrong, where the error does not say it.
    case place = "where"
    /// How to fix it.
    case hint
    /// PostgreSQL's code of an error.
    case sqlState = "sqlstate"
    /// Name of a foreign NOTIFY channel.
    case channel
    /// Name of a feedback hook.
    case hook = "feedback.hook"
    /// An APNs topic: which app of Apple's a push is for.
    case topic
    /// Host and port of a peer.
    case endpoint
    /// Where the program answers by HTTP.
    case listen
    /// Id of a request by HTTP, as its answer's `X-Request-Id` tells it.
    case requestID = "request.id"
    /// Method of a request by HTTP.
    case method
    /// Id of a daemon in the database.
    case instanceID = "instance.id"
    /// Name of the installation.
    case installation
    /// Version of the program.
    case version
    /// Name of a stage of the pipeline.
    case stage
    /// Name of a signal.
    case signal
    /// Dotted path of a configuration key.
    case configKey = "config.key"
    /// Path of a file.
    case file
    /// File descriptors that can be needed at once.
    case descriptorsNeeded = "descriptors.needed"
    /// File descriptors that are allowed.
    case descriptorLimit = "descriptors.limit"
    /// Log lines that could not be written before this one.
    case linesDropped = "log.dropped"
    /// The message of lines that were left out.
    case messageLeftOut = "log.like"
}

extension LogKey {
    /// The keys whose values are numbers, also where a line was made with them as text.
    package static let numbers: Set<String> = Set(allCases.filter(\.isNumber).map(\.rawValue))

    private var isNumber: Bool {
        switch self {
        case .eventID, .ruleVersion, .batchID, .deviceID, .attempt, .status, .count, .lagMilliseconds,
            .durationMilliseconds, .retryMilliseconds, .clockAheadMilliseconds, .instanceID, .linesDropped,
            .descriptorsNeeded,
            .descriptorLimit:
            true
        default: false
        }
    }
}

extension Logger.Metadata {
    /// The value of one of Fanfare's own keys.
    ///
    /// - Parameter key: the key.
    public subscript(key: LogKey) -> Logger.MetadataValue? {
        get { self[key.rawValue] }
        set { self[key.rawValue] = newValue }
    }

    /// Makes metadata from Fanfare's own keys.
    ///
    /// - Parameter pairs: keys and values; of a repeated key the last value counts.
    public init(_ pairs: KeyValuePairs<LogKey, Logger.MetadataValue>) {
        self.init(pairs.map { ($0.key.rawValue, $0.value) }, uniquingKeysWith: { $1 })
    }
}

extension Logger {
    /// The same logger, with one more of Fanfare's own keys on each line.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - value: its value.
    /// - Returns: a copy.
    public func with(_ key: LogKey, _ value: Logger.MetadataValue) -> Logger {
        var copy = self
        copy[metadataKey: key.rawValue] = value
        return copy
    }
}
