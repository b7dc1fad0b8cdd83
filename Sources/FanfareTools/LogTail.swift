internal import FanfareCore
internal import FanfareStore
internal import PostgresClient
internal import Threading

/// Follows the logs of a database: which events were planned, what became of each pair, and how far campaigns are.
///
/// Reads only what was appended since the last look, by its place in the partitions: an index on the time of closing
/// would cost every batch something, for a command that is seldom run. Nothing is notified. A row is missed if its
/// transaction stays open while more than ``slack`` pages are filled behind it. Used by one thread.
public final class LogTail {
    /// Pages that are read again each time, since sessions that append at once fill different pages.
    static let slack: Int64 = 64

    /// Where a partition was read to, and which rows of its last pages.
    private struct Place {
        var page: Int64
        var seen: [Int64: Int64] = [:]
    }

    private let connection: PostgresConnection
    private let database: String
    private let filter: Filter
    private let start: TailStart.Row
    private let clock: @Sendable () -> Microseconds
    private var places: [String: Place] = [:]
    private var campaigns: CampaignWatch

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
        guard let start = try connection.run(TailStart(since: filter.since)).first else {
            throw PostgresError(.protocolMismatch, message: "the server does not say what time it is")
        }
        self.start = start
    }

    /// From which time on lines are read, in microseconds since 1970 by the database's clock.
    package var from: Int64 { start.sinceMicroseconds }

    /// What came since the last look, in the order of time.
    ///
    /// - Returns: events and outcomes; a part of them if there are many, the rest with the next call. Every few seconds also
    ///   a line for each campaign that has come on.
    /// - Throws: ``ToolError``.
    public func next() throws(ToolError) -> [TailLine] {
        do throws(PostgresError) {
            let progress = try campaigns.lines(on: connection, at: clock())
            var lines: [TailLine] = []
            var isBehind = true
            // What was read may all be filtered out; that is no reason to pause.
            while lines.isEmpty && isBehind {
                isBehind = false
                for partition in try connection.run(LogPartitions()) where partition.pages > 0 {
                    let part = try read(partition)
                    lines += part.lines
                    isBehind = isBehind || part.isBehind
                }
            }
            return (lines + progress).sorted { ($0.at, $0.eventID ?? 0) < ($1.at, $1.eventID ?? 0) }
        } catch {
            throw ToolError(error, at: database)
        }
    }

    /// Reads on in a partition.
    ///
    /// - Returns: what passes the filter, and whether there is more than was read.
    private func read(_ partition: LogPartitions.Row) throws(PostgresError) -> (lines: [TailLine], isBehind: Bool) {
        guard let reader = TailReader.allCases.first(where: { partition.name.hasPrefix($0.rawValue) }),
            reader != .events || !filter.hidesEvents
        else { return ([], false) }
        var place = places[partition.name] ?? Place(page: firstPage(partition))
        // Retention empties partitions; then all that is in them is new.
        if partition.pages <= place.page { place = Place(page: 0, seen: place.seen) }
        let from = max(0, place.page - Self.slack)
        place.seen = place.seen.filter { $0.value >= from }
        let seen = "{" + place.seen.keys.map(String.init).joined(separator: ",") + "}"
        let rows = try connection.query(
            reader.sql(partition: partition.name),
            binds: ["(\(from),0)", start.since, seen] + filter.binds(for: reader)
        ).rows
        for row in rows {
            guard let id = row[0].flatMap({ Int64($0) }), let page = row[1].flatMap({ Int64($0) }) else { continue }
            place.seen[id] = page
            place.page = max(place.page, page)
        }
        // What the filter left out was read too; of each batch that was read there is a row.
        let isBehind = Set(rows.map { $0[0] }).count >= reader.limit
        if !isBehind { place.page = max(place.page, partition.pages - 1) }
        places[partition.name] = place
        return (rows.compactMap(reader.line), isBehind)
    }

    /// Where to begin: at the front of the partitions whose days are asked for, near the end of the others, in which only
    /// what is closed late comes in.
    private func firstPage(_ partition: LogPartitions.Row) -> Int64 {
        guard let ring = partition.name.split(separator: "_").last.flatMap({ Int64($0) }) else { return 0 }
        let day = start.today - (start.today - ring + Int64(EventID.ringDays)) % Int64(EventID.ringDays)
        return day >= start.sinceDay - 1 && filter.since != nil ? 0 : max(0, partition.pages - 1)
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
            return try LogTail(PostgresConnection.open(options), database: place, filter: filter, clock: clock)
        } catch {
            throw filter.since?.mistake(in: error) ?? ToolError(error, at: place)
        }
    }
}
