public import Logging

/// The metadata keys of Fanfare's log lines; part of the log contract (``LogLine/version``).
///
/// The meaning and unit of a key never change; new keys may be added at any time.
public enum LogKey: String, CaseIterable, Sendable {
    /// Id of an event.
    case eventID = "event.id"
    /// Type of an event, such as `order.shipped`.
    case eventType = "event.type"
    /// Fate of an event.
    case eventFate = "event.fate"
    /// Id of the trace that an event belongs to, 32 hexadecimal digits; OpenTelemetry's name for it in logs.
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
    /// Number of the attempt, from 1.
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
    /// Reason, as in the views: the provider's code, or Fanfare's own, from table `outcome_codes`.
    case reason
    /// Reason, in words; holds no data.
    case detail
    /// HTTP status of an answer.
    case status
    /// Number of objects that the line is about.
    case count
    /// Milliseconds from an event's creation until the line's own time, both by the database's clock.
    case lagMilliseconds = "lag_ms"
    /// Duration in milliseconds.
    case durationMilliseconds = "duration_ms"
    /// Milliseconds until the next retry.
    case retryMilliseconds = "retry_ms"
    /// Milliseconds by which this machine's clock is ahead of the database's; negative if it is behind.
    case clockAheadMilliseconds = "clock.ahead_ms"
    /// Error; holds no secret.
    case error
    /// Place of the error, if the error does not name it.
    case place = "where"
    /// How to fix the error.
    case hint
    /// SQLSTATE of a PostgreSQL error.
    case sqlState = "sqlstate"
    /// Name of a foreign NOTIFY channel.
    case channel
    /// Name of a feedback hook.
    case hook = "feedback.hook"
    /// An APNs topic, which is the bundle id of the app, with a suffix for some push types.
    case topic
    /// Host and port of a peer.
    case endpoint
    /// Address that the HTTP server listens on.
    case listen
    /// Id of an HTTP request, as in the response's `X-Request-Id`.
    case requestID = "request.id"
    /// Method of an HTTP request.
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
    /// The maximum number of file descriptors needed at once.
    case descriptorsNeeded = "descriptors.needed"
    /// The limit of file descriptors.
    case descriptorLimit = "descriptors.limit"
    /// Log lines that could not be written before this one.
    case linesDropped = "log.dropped"
    /// The message of omitted lines.
    case messageLeftOut = "log.like"
}

extension LogKey {
    /// The keys whose values are written as numbers, even if the metadata holds text.
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
    /// Accesses the value of one of Fanfare's keys.
    ///
    /// - Parameter key: the key.
    public subscript(key: LogKey) -> Logger.MetadataValue? {
        get { self[key.rawValue] }
        set { self[key.rawValue] = newValue }
    }

    /// Makes metadata from Fanfare's keys.
    ///
    /// - Parameter pairs: keys and values; the last value of a repeated key wins.
    public init(_ pairs: KeyValuePairs<LogKey, Logger.MetadataValue>) {
        self.init(pairs.map { ($0.key.rawValue, $0.value) }, uniquingKeysWith: { $1 })
    }
}

extension Logger {
    /// Returns a copy of the logger that adds one of Fanfare's keys to each line.
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
