internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Listens to NOTIFY on foreign channels: the leading daemon stores their payloads as events.
///
/// The planner tests whether notifications arrive at all (``WakeListener``). This stage pings the server every 3 s,
/// because a dead connection looks like one without notifications.
struct Listener: Stage {
    let name = "listener"
    /// The interval of pings.
    private static let pulseInterval = 3 * Micros.second
    private static let leaderInterval = 5 * Micros.second

    let context: StageContext
    /// Raised when an event was stored.
    let planner: WakeSignal
    private let stopping = StopSignal()
    private let wake = WakeSignal()

    func stop() {
        stopping.stop()
        wake.wake()
    }

    func run() {
        var channels: ForeignChannels?
        context.takeTurns(on: context.database.control(name), until: stopping) { session in
            let done: Void? = session.attempt(
                opened: { _ in channels = ForeignChannels(context: context, planner: planner) },
                { connection throws(PostgresError) in try channels?.listen(on: connection, wake: wake) }
            )
            if done == nil {
                context.status.lead(.channels, false)
                session.close()
            }
        }
    }

    /// The work of one session for foreign channels.
    private struct ForeignChannels {
        private let context: StageContext
        private let planner: WakeSignal
        private var answeredAt = Clocks.steady
        private var triedToLeadAt: Microseconds?
        private var isLeader = false

        init(context: StageContext, planner: WakeSignal) {
            (self.context, self.planner) = (context, planner)
        }

        /// Waits for notifications once and stores them.
        mutating func listen(on connection: PostgresConnection, wake: WakeSignal) throws(PostgresError) {
            try lead(on: connection)
            for notification in try connection.notifications(timeout: .seconds(1), alsoWake: wake) {
                try store(notification, on: connection)
            }
            guard Clocks.steady - answeredAt >= Listener.pulseInterval else { return }
            try connection.ping()
            answeredAt = Clocks.steady
        }

        /// Tries to become the leader, so that only one daemon listens; otherwise each payload would become several
        /// events.
        private mutating func lead(on connection: PostgresConnection) throws(PostgresError) {
            guard !isLeader else { return }
            let now = Clocks.steady
            if let triedToLeadAt, now - triedToLeadAt <= Listener.leaderInterval { return }
            triedToLeadAt = now
            guard try connection.run(SQL.tryLock(AdvisoryLock.family, AdvisoryLock.foreignChannels)).first ?? false
            else { return }
            for channel in context.settings.listen { try connection.listen(to: channel) }
            isLeader = true
            context.status.lead(.channels, true)
            context.logger.notice("listening to foreign channels")
        }

        private func store(_ notification: PostgresNotification, on connection: PostgresConnection)
            throws(PostgresError)
        {
            let isObject = (try? JSONValue(parsing: notification.payload))?.objectValue != nil
            if isObject {
                do throws(PostgresError) {
                    try connection.run(SQL.storeForeignEvent(notification.channel, notification.payload))
                    planner.wake()
                    return
                } catch {
                    // For example an escaped U+0000, which JSON allows and jsonb does not.
                    guard error.isDataError else { throw error }
                }
            }
            try connection.run(SQL.storeMalformedEvent(notification.channel, notification.payload))
            context.logger.warning(
                "a notification is not a JSON object; it was stored as refused",
                metadata: .init([.channel: "\(notification.channel)"])
            )
        }
    }
}
