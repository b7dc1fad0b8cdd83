internal import FanfareCore
internal import FanfareStore
internal import PostgresClient
internal import Threading

/// Follows the logs of a database: which events were planned, what became of each delivery, and how far campaigns are.
///
/// Reads both logs by the time at which rows were written, up to the same time, so that one time says what was read. The last
/// ``margin`` before the database's clock is read again at each look: a transaction commits later than it writes. A row is missed if
/// its transaction stays open longer than that; the daemon's end sooner. Nothing is notified. Used by one thread.
public final class LogTail {
    /// How much is read again, in microseconds.
    static let margin: Int64 = 10_000_000

    private let connection: PostgresConnection
    private let database: String
    private let filter: Filter
    private let clock: @Sendable () -> Microseconds
    private var campaigns: CampaignWatch
    /// From which time on lines are read, in microseconds since 1970 by the database's clock.
    package let from: Int64
    /// The same, unless the clock was set back behind it.
    private var begun: Int64
    /// What is older was read, in both logs.
    private var place: Int64
    /// What was read and is not older, with its time.
    private var events: [Int64: Int64] = [:]
    private var batches: [Int64: Int64] = [:]

    init(
        _ connection: PostgresConnection,
        database: String,
        filter: Filter,
        clock: @escaping @Sendable () -> Microseconds
    ) throws(PostgresError) {
        self.connection = connection
        self.database = database
        self.filter = filter
        self.clock = clock
        campaigns = CampaignWatch(filter)
        from = try Self.time(on: connection, since: filter.since)
        (begun, place) = (from, from)
    }

    /// What came since the last look, in the order of time.
    ///
    /// - Returns: events and outcomes; a part of them if there are many, the rest with the next call. Behind all that is there, every
    ///   few seconds, also a line for each campaign that has come on.
    /// - Throws: ``ToolError``.
    public func next() throws(ToolError) -> [TailLine] {
        do throws(PostgresError) {
            var (lines, isBehind): ([TailLine], Bool) = ([], true)
            // What was read may all be filtered out; that is no reason to pause.
            while lines.isEmpty && isBehind { (lines, isBehind) = try read() }
            if !isBehind { lines += try campaigns.lines(on: connection, at: clock()) }
            return lines.sorted { ($0.at, $0.eventID ?? 0) < ($1.at, $1.eventID ?? 0) }
        } catch {
            throw ToolError(error, at: database)
        }
    }

    /// Reads on in both logs, as far as there is room for in both.
    ///
    /// - Returns: what passes the filter, and whether there is more than was read.
    private func read() throws(PostgresError) -> (lines: [TailLine], isBehind: Bool) {
        let now = try Self.time(on: connection)
        // A clock that was set back leaves rows of a time to come: they have their turn then.
        var end = now + Self.margin
        var isBehind = false
        var fates = filter.hidesEvents ? [] : try connection.run(TailEvents(window(until: end, seen: events)))
        if fates.count >= TailEvents.limit {
            (isBehind, end) = (true, fates.reduce(place) { max($0, $1.at.microseconds) })
        }
        let pushes = try connection.run(TailPushes(window(until: end, seen: batches)))
        if Set(pushes.map(\.batchID)).count >= TailPushes.limit {
            (isBehind, end) = (true, pushes.reduce(place) { max($0, $1.at.microseconds) })
            // These are read again, when the batches before them have been.
            fates.removeAll { $0.at.microseconds > end }
        }
        for fate in fates { events[fate.id] = fate.at.microseconds }
        for push in pushes { batches[push.batchID] = push.at.microseconds }
        begun = min(begun, now)
        place = max(begun, min(end, now - Self.margin))
        events = events.filter { $0.value >= place }
        batches = batches.filter { $0.value >= place }
        return (fates.map(TailLine.init) + pushes.compactMap(TailLine.init), isBehind)
    }

    private func window(until end: Int64, seen: [Int64: Int64]) -> TailWindow {
        var window = TailWindow(
            since: Timestamp(microseconds: place),
            until: Timestamp(microseconds: end),
            seen: Array(seen.keys)
        )
        (window.eventID, window.eventType, window.outcomes) = (filter.eventID, filter.eventType, filter.outcomes)
        (window.user, window.app, window.rule) = (filter.user, filter.app, filter.rule)
        return window
    }

    /// The session: its statements are planned once, and whatever the statistics say of a partition, rows are found by the index on
    /// their time.
    ///
    /// - Parameter session: what it has besides.
    /// - Returns: the settings.
    static func settings(_ session: SessionSettings) -> SessionSettings {
        (SessionSettings.nestedLoops.pairs + [("enable_bitmapscan", "off"), ("enable_sort", "off"), ("jit", "off")])
            .reduce(session) {
                $0.setting($1.name, to: $1.value)
            }
    }

    private static func time(on connection: PostgresConnection, since: Since? = nil) throws(PostgresError) -> Int64 {
        guard let time = try connection.run(TailStart(since: since)).first else {
            throw PostgresError(.protocolMismatch, message: "the server does not say what time it is")
        }
        return time
    }
}

extension ToolDatabase {
    /// Follows the logs, on a session of its own: it is held for as long as somebody looks.
    ///
    /// Blocks the calling thread, as `next()` does.
    ///
    /// - Parameter filter: which events.
    /// - Returns: reads on with each call of `next()`; its session lasts as long as it does.
    /// - Throws: ``ToolError``; of kind `usage` for a time that is none.
    public func tail(_ filter: LogTail.Filter) throws(ToolError) -> LogTail {
        try tail(filter) { Clocks.steady }
    }

    /// The same by a clock that gives the steady time at which campaigns are looked at.
    func tail(_ filter: LogTail.Filter, clock: @escaping @Sendable () -> Microseconds) throws(ToolError) -> LogTail {
        do throws(PostgresError) {
            var options = self.options
            options.session = LogTail.settings(options.session)
            return try LogTail(PostgresConnection.open(options), database: place, filter: filter, clock: clock)
        } catch {
            throw filter.since?.mistake(in: error) ?? ToolError(error, at: place)
        }
    }
}
