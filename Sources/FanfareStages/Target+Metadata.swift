internal import FanfareConfiguration
package import FanfareLogging
package import FanfareStore
package import Logging

extension Target {
    /// What a log line about everything that goes to the target says.
    ///
    /// - Parameter more: what it says beside; wins over the target's own keys.
    /// - Returns: the metadata of the line.
    package func metadata(_ more: KeyValuePairs<LogKey, Logger.MetadataValue> = [:]) -> Logger.Metadata {
        let own = Logger.Metadata([.app: "\(app)", .provider: "\(provider)", .environment: "\(environment)"])
        return own.merging(Logger.Metadata(more)) { $1 }
    }
}
