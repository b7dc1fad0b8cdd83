internal import FanfareConfiguration
package import FanfareLogging
package import FanfareStore
package import Logging

extension Target {
    /// Returns the log metadata of a line about a target.
    ///
    /// - Parameter more: further metadata; overrides the keys of the target.
    /// - Returns: the metadata of the line.
    package func metadata(_ more: KeyValuePairs<LogKey, Logger.MetadataValue> = [:]) -> Logger.Metadata {
        let own = Logger.Metadata([.app: "\(app)", .provider: "\(provider)", .environment: "\(environment)"])
        return own.merging(Logger.Metadata(more)) { $1 }
    }
}
