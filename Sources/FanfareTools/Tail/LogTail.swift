internal import FanfareCore
internal import FanfareRecords
internal import PostgresClient
internal import Threading

/// Follows the logs of a database: planned events, outcomes of deliveries, and the progress of campaigns.
///
/// Both logs are read in the order of the time at which rows were written, up to the same time, so that one time is the
/// position in both. Each poll reads the last ``margin`` before the database's clock again, because a transaction
/// commits later than it writes. A row is missed if its transaction stays open longer than that; the daemon's
/// transactions end sooner. There are no notifications. Used by one thread.
public final class LogTail {
    /// The time span that each poll reads again, in microseconds.
    static let margin: Int64 = 10_000_000

    private let connection: PostgresConnection
    private let database: String
    private let filter: Filter
    private let clock: @Sendable () -> Microseconds
    private var campaigns: CampaignWatch
    /// The start of the lines, in microseconds since 1970 by the database's clock.
    package let from: Int64
    /// The same start, or an earlier one after the clock was set back.
    private var begun: Int64
    /// The position: all older rows of both logs have been read.
    private var place: Int64
    /// Rows that were read and are not older than the position, with their times.
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

    /// Returns the rows since the last call, in the order of time.
    ///
    /// - Returns: events and outcomes; if there are many, a part of them, and the rest with the next call. After the
    ///   last row, every few seconds, also a line for each campaign that made progress.
    /// - Throws: ``ToolError``.
    public func next() throws(ToolError) -> [TailLine] {
        do throws(PostgresError) {
            var (lines, isBehind): ([TailLine], Bool) = ([], true)
            // The filter may drop everything that was read; that is no reason to pause.
            while lines.isEmpty && isBehind { (lines, isBehind) = try read() }
            if !isBehind { lines += try campaigns.lines(on: connection, at: clock()) }
            return lines.sorted { ($0.at, $0.eventID ?? 0) < ($1.at, $1.eventID ?? 0) }
        } catch {
            throw ToolError(error, at: database)
        }
    }

    /// Reads on in both logs, up to the limit of rows.
    ///
    /// - Returns: the rows that pass the filter, and whether there are more than were read.
    private func read() throws(PostgresError) -> (lines: [TailLine], isBehind: Bool) {
        let now = try Self.time(on: connection)
        // After the clock was set back, rows may lie in the future; they are read when their time comes.
        var end = now + Self.margin
        var isBehind = false
        var fates = filter.hidesEvents ? [] : try connection.run(SQL.tailEvents(window(until: end, seen: events)))
        if fates.count >= TailEvent.limit {
            (isBehind, end) = (true, fates.reduce(place) { max($0, $1.at.microseconds) })
        }
        let range = window(until: end, seen: batches)
        let pushes = try connection.run(SQL.tailPushes(range, range.user, range.app, range.rule))
        if Set(pushes.map(\.batchID)).count >= TailPush.limit {
            (isBehind, end) = (true, pushes.reduce(place) { max($0, $1.at.microseconds) })
            // These rows are read again after the batches before them.
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

    /// Returns the session's settings: statements are planned once, and rows are found by the index on their time
    /// regardless of a partition's statistics.
    ///
    /// - Parameter session: the session's other settings.
    /// - Returns: the settings.
    static func settings(_ session: SessionSettings) -> SessionSettings {
        (SessionSettings.nestedLoops.pairs + [("enable_bitmapscan", "off"), ("enable_sort", "off"), ("jit", "off")])
            .reduce(session) {
                $0.setting($1.name, to: $1.value)
            }
    }

    private static func time(on connection: PostgresConnection, since: Since? = nil) throws(PostgresError) -> Int64 {
        guard let time = try connection.run(SQL.tailStart(since?.seconds, since?.text)).first else {
            throw PostgresError(.protocolMismatch, message: "the server does not say what time it is")
        }
        return time
    }
}

extension ToolDatabase {
    /// Follows the logs on a session of its own, which it holds until the caller stops.
    ///
    /// Blocks the calling thread, as `next()` does.
    ///
    /// - Parameter filter: selects the events.
    /// - Returns: the tail, whose `next()` reads on; its session lives as long as it does.
    /// - Throws: ``ToolError``; of kind `usage` for a text that is not a time.
    public func tail(_ filter: LogTail.Filter) throws(ToolError) -> LogTail {
        try tail(filter) { Clocks.steady }
    }

    /// The same with a clock that gives the monotonic time for polling campaigns.
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
