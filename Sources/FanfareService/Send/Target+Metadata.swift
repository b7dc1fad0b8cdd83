internal import Logging

extension Target {
    /// What a log line about everything that goes to the target says.
    ///
    /// - Parameter more: what it says beside; wins over the target's own keys.
    func metadata(_ more: Logger.Metadata) -> Logger.Metadata {
        let own = Logger.Metadata([.app: "\(app)", .provider: "\(platform)", .environment: "\(environment)"])
        return own.merging(more) { $1 }
    }
}
