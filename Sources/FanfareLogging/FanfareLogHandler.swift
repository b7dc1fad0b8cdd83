internal import FanfareConfiguration
public import Logging

/// The back end of a `Logger`: adds the logger's metadata to each line and passes it to the shared ``LogOutput``.
public struct FanfareLogHandler: LogHandler {
    private let output: LogOutput
    private var ownLevel: Logger.Level?

    /// Metadata of every line of this logger.
    public var metadata: Logger.Metadata = [:]
    /// The provider of task metadata.
    public var metadataProvider: Logger.MetadataProvider?

    init(output: LogOutput) {
        self.output = output
    }

    /// The output's level, which a reload may change, unless this logger has its own level.
    public var logLevel: Logger.Level {
        get { ownLevel ?? output.level }
        set { ownLevel = newValue }
    }

    /// One value of ``metadata``.
    ///
    /// - Parameter key: its key.
    public subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Writes one line.
    ///
    /// - Parameter event: the log event; its own metadata takes precedence over the logger's.
    public func log(event: LogEvent) {
        var merged = metadataProvider?.get() ?? [:]
        merged.merge(metadata) { $1 }
        if let error = event.error { merged[.error] = "\(error)" }
        if let own = event.metadata { merged.merge(own) { $1 } }
        output.write(level: event.level, message: event.message.description, metadata: merged)
    }
}
