package import FanfareLogging
package import Logging

extension Logger.Metadata {
    /// What a log line about one event says.
    ///
    /// - Parameters:
    ///   - eventID: the event.
    ///   - traceID: the id of its trace; nil if it has none.
    ///   - more: what it says beside; wins over these.
    /// - Returns: the metadata of the line.
    package static func about(
        _ eventID: Int64,
        ofTrace traceID: String?,
        _ more: KeyValuePairs<LogKey, Logger.MetadataValue>
    ) -> Logger.Metadata {
        var own = Logger.Metadata([.eventID: "\(eventID)"])
        own[.traceID] = traceID.map { "\($0)" }
        return own.merging(Logger.Metadata(more)) { $1 }
    }
}
