internal import FanfareCore
internal import Logging
internal import PostgresClient

/// Hears NOTIFY on foreign channels: where this daemon leads, it stores their payloads as events.
///
/// The planner hears of events on its own session. That LISTEN works between here and the server is proved, not assumed:
/// the session notifies itself at start and every 30 s. That somebody is there is asked every 3 s: a silent link looks like
/// one on which there is nothing to hear.
final class Listener: Stage {
    let name = "listener"
    private static let probeInterval = 30 * Micros.second
    private static let probePatience = 5 * Micros.second
    private static let pulseInterval = 3 * Micros.second
    private static let leaderInterval = 5 * Micros.second

    private let context: StageContext
    private let stopping = StopSignal()
    private let wake = WakeSignal()

    init(context: StageContext) {
        self.context = context
    }

    func stop() {
        stopping.stop()
        wake.wake()
    }

    func run() {
        let session = Session(context.database.control(name), of: context, stop: stopping)
        var ear: Ear?
        while !stopping.isStopped {
            context.pulses.beat(name)
            let done: Void? = session.attempt(
                opened: { connection throws(PostgresError) in ear = try Ear(context: context, on: connection) },
                { connection throws(PostgresError) in try ear?.listen(on: connection, wake: wake) }
            )
            if done == nil {
                context.status.listening(false)
                context.status.lead("channels", false)
                session.close()
            }
        }
        session.close()
    }

    /// What a listening session knows.
    private struct Ear {
        private let context: StageContext
        private let probeChannel: String
        private var probedAt: Microseconds
        private var isAwaitingProbe = true
        private var answeredAt: Microseconds
        private var triedToLeadAt: Microseconds = 0
        private var isLeader = false

        init(context: StageContext, on connection: PostgresConnection) throws(PostgresError) {
            self.context = context
            guard !connection.isPooled else {
                throw PostgresError(
                    .protocolMismatch,
                    message: "LISTEN does not work through this connection pool",
                    hint: "Connect Fanfare to PostgreSQL itself."
                )
            }
            probeChannel = "fanfare_probe_\(connection.backendPID)"
            try connection.listen(to: probeChannel)
            _ = try connection.query("SELECT pg_notify($1, '')", probeChannel)
            probedAt = Clocks.steady
            answeredAt = probedAt
        }

        /// Waits for one round of notifications.
        mutating func listen(on connection: PostgresConnection, wake: WakeSignal) throws(PostgresError) {
            try lead(on: connection)
            for notification in try connection.notifications(timeout: .seconds(1), alsoWake: wake) {
                switch notification.channel {
                case probeChannel: heardProbe()
                default: try store(notification, on: connection)
                }
            }
            try probe(on: connection)
        }

        private mutating func heardProbe() {
            isAwaitingProbe = false
            context.status.listening(true)
        }

        private mutating func probe(on connection: PostgresConnection) throws(PostgresError) {
            let now = Clocks.steady
            if isAwaitingProbe && now - probedAt > Listener.probePatience {
                throw PostgresError(
                    .protocolMismatch,
                    message: "a notification to ourselves did not come back",
                    hint:
                        "Is there a connection pool in between? LISTEN needs a session of its own."
                )
            }
            if !isAwaitingProbe && now - probedAt > Listener.probeInterval {
                _ = try connection.query("SELECT pg_notify($1, '')", probeChannel)
                probedAt = now
                isAwaitingProbe = true
            } else if now - answeredAt >= Listener.pulseInterval {
                try connection.execute("SELECT")
            } else {
                return
            }
            answeredAt = now
        }

        /// Foreign channels are heard by one daemon only, or each payload would become several events.
        private mutating func lead(on connection: PostgresConnection) throws(PostgresError) {
            let now = Clocks.steady
            guard !isLeader, !context.settings.listen.isEmpty else { return }
            guard triedToLeadAt == 0 || now - triedToLeadAt > Listener.leaderInterval else { return }
            triedToLeadAt = max(now, 1)
            guard try connection.run(TryLock(key: AdvisoryLock.foreignChannels)).first ?? false else { return }
            for channel in context.settings.listen { try connection.listen(to: channel) }
            isLeader = true
            context.status.lead("channels", true)
            context.logger.notice("listening to foreign channels")
        }

        private func store(_ notification: PostgresNotification, on connection: PostgresConnection)
            throws(PostgresError)
        {
            let isObject = (try? JSONValue(parsing: notification.payload))?.objectValue != nil
            if isObject {
                do throws(PostgresError) {
                    try connection.run(StoreForeignEvent(channel: notification.channel, payload: notification.payload))
                    context.bells.plan.wake()
                    return
                } catch {
                    // For example an escaped U+0000, which JSON allows and jsonb does not.
                    guard error.isDataError else { throw error }
                }
            }
            try connection.run(StoreMalformedEvent(channel: notification.channel, payload: notification.payload))
            context.logger.warning(
                "a notification is no JSON object; it was stored as refused",
                metadata: .init([.channel: "\(notification.channel)"])
            )
        }
    }
}

/// Stores the payload of a foreign channel as an event whose type is the channel.
struct StoreForeignEvent: PostgresStatement {
    static let name = "store_foreign_event"
    static let sql = "INSERT INTO fanfare.outbox (type, payload) VALUES ($1, $2::jsonb)"

    let channel: String
    let payload: String

    func bind(to binds: inout PostgresBinds) {
        binds.append(channel)
        binds.append(payload)
    }
}

/// Keeps what came on a foreign channel and is no JSON object, as an event that is refused.
struct StoreMalformedEvent: PostgresStatement {
    static let name = "store_malformed_event"
    static let sql = """
        INSERT INTO fanfare.event_log (day, id, created_at, type, payload, detail, fate)
        SELECT fanfare.ring_day(id), id, clock_timestamp(), $1, jsonb_build_object('malformed', $2::text),
            'the notification is no JSON object', 6
        FROM fanfare.new_event_id() AS id
        """

    let channel: String
    let payload: String

    func bind(to binds: inout PostgresBinds) {
        binds.append(channel)
        binds.append(payload)
    }
}
