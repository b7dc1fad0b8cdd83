package import FanfareConfiguration

/// A task that only one daemon of an installation does at a time.
package enum LeaderRole: String, CaseIterable, Sendable {
    /// Listens on foreign NOTIFY channels.
    case channels
    /// Checks rules, applies retention and audits.
    case maintenance
}

/// The settings of the stages.
package struct StageSettings: Sendable {
    package var batchSize: Int
    package var sessions = WorkSessions(connections: WorkSessions.least)
    /// The in-flight budget.
    package var unrecorded = 4096
    package var maximumAttempts: UInt8 = 10
    package var keyRetentionSeconds: Int64 = 7 * 86_400
    package var logRetentionDays = 30
    /// How long users' actions and texts are kept.
    package var reportRetentionDays = 30
    /// Foreign NOTIFY channels.
    package var listen: [String] = []
    package var daemonName = ""
    package var version = ""
    package var deliveryLogging = Configuration.Log.Deliveries.failures
    /// The value of `apps.<name>.events` by app, without apps that do not set it.
    package var events: [String: [String]] = [:]

    /// Creates default settings, for tests of single stages.
    package init(batchSize: Int = 1000) { self.batchSize = batchSize }

    /// The leader roles that this daemon competes for, as passed to ``DaemonState/lead(_:_:)``.
    package var roles: [LeaderRole] { listen.isEmpty ? [.maintenance] : [.channels, .maintenance] }

    /// Applies the settings that stages read each time; the others are fixed when the stages start.
    package mutating func takeLive(from fresh: StageSettings) {
        maximumAttempts = fresh.maximumAttempts
        keyRetentionSeconds = fresh.keyRetentionSeconds
        logRetentionDays = fresh.logRetentionDays
        deliveryLogging = fresh.deliveryLogging
        events = fresh.events
    }
}
