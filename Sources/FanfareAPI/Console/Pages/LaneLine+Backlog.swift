internal import FanfareCore
internal import FanfareStore
internal import PostgresClient

extension LaneLine {
    /// How long pushes of a lane may wait before it is shown in red, in microseconds; nil for what waits on purpose.
    private static func patience(_ lane: Lane?) -> Int64? {
        switch lane {
        case .transactional: 60 * 1_000_000
        case .normal: 600 * 1_000_000
        default: nil
        }
    }

    /// What waits, by target and lane.
    ///
    /// - Parameters:
    ///   - rows: of the backlog.
    ///   - app: of which app; nil for all.
    ///   - now: by the database's clock, in microseconds since 1970.
    /// - Returns: the longest wait of the foremost lane first.
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

    /// A count that is reckoned from a part.
    static func about(_ count: Int64, _ isMore: Bool) -> String {
        isMore && count > 0 ? "\(FigureText.short(Double(count)))+" : FigureText.count(count)
    }
}

/// The rows of some kind of the backlog as one.
struct Backlog: Sendable {
    let target: String
    let lane: Int16
    /// Deliveries whose time has come, about.
    let ready: Int64
    /// Deliveries whose time has not come, about.
    let waiting: Int64
    /// Deliveries of them that wait behind a campaign's gate, about.
    let gated: Int64
    /// Whether there is more than was looked at.
    let isMore: Bool
    /// When the oldest was planned whose time has come, in microseconds since 1970; nil where there is none.
    let oldest: Int64?
    /// Whether all that is due waits behind gates: at a campaign's pace, or for who paused it.
    let isHeld: Bool

    /// Sums up.
    ///
    /// - Parameter rows: of one target and lane, or of all.
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

    /// The share of a row's deliveries that its due batches are.
    private static func ready(_ row: BacklogRow) -> Int64 {
        guard row.batches > 0 else { return 0 }
        return row.dueBatches >= row.batches ? row.deliveries : row.deliveries / row.batches * row.dueBatches
    }
}
