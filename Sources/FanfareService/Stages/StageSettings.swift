internal import FanfareConfiguration

/// The settings the stages go by.
struct StageSettings: Sendable {
    var batchSize = 1000
    var sessions = WorkSessions(connections: WorkSessions.least)
    /// W.
    var unrecorded = 4096
    var maximumAttempts: UInt8 = 10
    var keyRetentionSeconds: Int64 = 7 * 86_400
    var logRetentionDays = 30
    /// Foreign NOTIFY channels.
    var listen: [String] = []
    var daemonName = ""
    var version = ""
    var deliveryLogging = Configuration.Log.Deliveries.failures

    /// What one daemon of all does, and this one would: the names that ``StatusBoard/lead(_:_:)`` gets.
    var roles: [String] { listen.isEmpty ? [Maintenance.name] : [Listener.role, Maintenance.name] }

    /// Takes over what stages read anew each time; the rest is built into them when they start.
    mutating func takeLive(from fresh: StageSettings) {
        maximumAttempts = fresh.maximumAttempts
        keyRetentionSeconds = fresh.keyRetentionSeconds
        logRetentionDays = fresh.logRetentionDays
        deliveryLogging = fresh.deliveryLogging
    }
}
