internal import FanfareCore
internal import FanfareRecords
internal import PostgresClient

extension LaneLine {
    /// Returns the wait after which a lane's oldest push is shown in red, in microseconds; nil for lanes that may wait.
    private static func patience(_ lane: Lane?) -> Int64? {
        switch lane {
        case .transactional: 60 * 1_000_000
        case .normal: 600 * 1_000_000
        default: nil
        }
    }

    /// Returns the backlog by target and lane.
    ///
    /// - Parameters:
    ///   - rows: the rows of the backlog.
    ///   - app: the app; nil for all.
    ///   - now: the database's time, in microseconds since 1970.
    /// - Returns: the lines by lane, then the longest wait first.
    static func lines(_ rows: [BacklogRow], of app: String?, at now: Int64) -> [LaneLine] {
        let kinds = Dictionary(grouping: rows.filter { app == nil || $0.app == app }) {
            [$0.app, $0.provider, $0.environment, "\($0.lane)"]
        }
        let sums = kinds.values.map(Backlog.init)
        return sums.sorted { ($0.lane, $0.oldest ?? .max, $0.target) < ($1.lane, $1.oldest ?? .max, $1.target) }.map {
            sum in
            let age = sum.oldest.map { max(0, now - $0) }
            let lane = Lane(rawValue: sum.lane)
            let isLate = age.flatMap { age in sum.isHeld ? nil : patience(lane).map { age > $0 } } ?? false
            return LaneLine(
                target: sum.target,
                lane: lane?.name ?? "\(sum.lane)",
                ready: Self.about(sum.ready, sum.isMore),
                waiting: Self.about(sum.waiting, sum.isMore),
                oldest: age.map { FigureText.duration(Double($0) / 1_000_000) } ?? "–",
                tone: (isLate ? Tone.bad : .quiet).rawValue
            )
        }
    }

    /// Returns a count with `+` if it was estimated from a part.
    static func about(_ count: Int64, _ isMore: Bool) -> String {
        isMore && count > 0 ? "\(FigureText.short(Double(count)))+" : FigureText.count(count)
    }
}

/// The sum of several rows of the backlog.
struct Backlog: Sendable {
    let target: String
    let lane: Int16
    /// The estimated number of due deliveries.
    let ready: Int64
    /// The estimated number of deliveries that are not yet due.
    let waiting: Int64
    /// The estimated number of deliveries behind a campaign's gate.
    let gated: Int64
    /// Whether the backlog is larger than the part that was read.
    let isMore: Bool
    /// The planning time of the oldest due batch, in microseconds since 1970; nil for none.
    let oldest: Int64?
    /// Whether every due batch waits behind a gate: for a campaign's pace, or for the end of a pause.
    let isHeld: Bool

    /// Sums the rows.
    ///
    /// - Parameter rows: the rows of one target and lane, or all rows.
    init(_ rows: [BacklogRow]) {
        let due = rows.filter { $0.dueBatches > 0 }
        ready = rows.reduce(0) { $0 + Self.ready($1) }
        waiting = rows.reduce(0) { $0 + $1.deliveries - Self.ready($1) }
        gated = rows.filter { $0.gateID != 0 }.reduce(0) { $0 + $1.deliveries }
        isMore = rows.contains(where: \.isMore)
        oldest = due.map(\.oldest.microseconds).min()
        isHeld = !due.contains { $0.gateID == 0 }
        lane = rows.first?.lane ?? 0
        let first = rows.first
        let environment = first.map { $0.environment == "production" ? "" : " \($0.environment)" } ?? ""
        target = first.map { "\($0.app) \($0.provider)\(environment)" } ?? ""
    }

    /// Returns the due deliveries of a row, estimated from its share of due batches.
    private static func ready(_ row: BacklogRow) -> Int64 {
        guard row.batches > 0 else { return 0 }
        return row.dueBatches >= row.batches ? row.deliveries : row.deliveries / row.batches * row.dueBatches
    }
}
