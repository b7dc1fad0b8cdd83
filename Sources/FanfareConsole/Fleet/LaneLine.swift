internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareRecords
internal import PostgresClient

/// The backlog of one target in one lane.
struct LaneLine: ViewContext {
    let target: String
    let lane: String
    /// The estimated number of due deliveries.
    let ready: String
    /// The estimated number of deliveries that are not yet due.
    let waiting: String
    let oldest: String
    let tone: String
}

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
