package import FanfareLogging
package import Logging

extension Logger.Metadata {
    /// Returns the log metadata of a line about one event.
    ///
    /// - Parameters:
    ///   - eventID: the event's id.
    ///   - traceID: the id of its trace; nil if it has none.
    ///   - more: further metadata; overrides the keys of the event.
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
