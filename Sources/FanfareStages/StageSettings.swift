package import FanfareConfiguration

/// What one daemon of all does.
package enum LeaderRole: String, CaseIterable, Sendable {
    /// Hears foreign NOTIFY channels.
    case channels
    /// Keeps the house: rules, retention, audit.
    case maintenance
}

/// The settings the stages go by.
package struct StageSettings: Sendable {
    package var batchSize: Int
    package var sessions = WorkSessions(connections: WorkSessions.least)
    /// W.
    package var unrecorded = 4096
    package var maximumAttempts: UInt8 = 10
    package var keyRetentionSeconds: Int64 = 7 * 86_400
    package var logRetentionDays = 30
    /// Foreign NOTIFY channels.
    package var listen: [String] = []
    package var daemonName = ""
    package var version = ""
    package var deliveryLogging = Configuration.Log.Deliveries.failures
    /// What `apps.<name>.events` says, by app; apps without the key are not in it.
    package var events: [String: [String]] = [:]

    /// The defaults, as for single stages in tests.
    package init(batchSize: Int = 1000) { self.batchSize = batchSize }

    /// What one daemon of all does, and this one would: the names that ``DaemonState/lead(_:_:)`` gets.
    package var roles: [LeaderRole] { listen.isEmpty ? [.maintenance] : [.channels, .maintenance] }

    /// Takes over what stages read anew each time; the rest is built into them when they start.
    package mutating func takeLive(from fresh: StageSettings) {
        maximumAttempts = fresh.maximumAttempts
        keyRetentionSeconds = fresh.keyRetentionSeconds
        logRetentionDays = fresh.logRetentionDays
        deliveryLogging = fresh.deliveryLogging
        events = fresh.events
    }
}
