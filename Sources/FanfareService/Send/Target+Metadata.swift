internal import FanfareConfiguration
internal import FanfareLogging
internal import FanfareStore
internal import Logging

extension Target {
    /// What a log line about everything that goes to the target says.
    ///
    /// - Parameter more: what it says beside; wins over the target's own keys.
    /// - Returns: the metadata of the line.
    func metadata(_ more: KeyValuePairs<LogKey, Logger.MetadataValue> = [:]) -> Logger.Metadata {
        let own = Logger.Metadata([.app: "\(app)", .provider: "\(platform)", .environment: "\(environment)"])
        return own.merging(Logger.Metadata(more)) { $1 }
    }
}
