internal import FanfareCore
internal import FanfareMetrics
internal import FanfareService
internal import FanfareTools
internal import Threading

/// What is looked up for `/metrics` beside what the daemon counts.
///
/// What belongs to the database is the same from every daemon: use `max` over them. It is read every five seconds at most, however many
/// ask; while the database is away, it is left out.
final class DaemonFigures: Sendable {
    /// How long what was read counts.
    static let age = Duration.seconds(5)

    private struct Look {
        let families: [MetricFamily]
        let at: ContinuousClock.Instant
    }

    private let database: ToolDatabase
    private let last = Locked<Look?>(nil)

    init(_ database: ToolDatabase) {
        self.database = database
    }

    /// The figures now.
    ///
    /// - Parameter daemon: beside whom.
    /// - Returns: by name.
    func families(_ daemon: ListenedDaemon) async -> [MetricFamily] {
        let standing = daemon.readiness()
        let version = [MetricLabel("version", daemon.version)]
        var families = [
            MetricFamily("fanfare_build_info", .gauge, help: "1, by the program's version.", values: [(version, 1)]),
            Self.flag("fanfare_lease_held", "1 while the daemon may claim and send.", standing.holdsLease),
            Self.flag("fanfare_listening", "1 while LISTEN is known to work.", standing.isListening),
            MetricFamily(
                "fanfare_breaker_open",
                .gauge,
                help: "1 for each provider to which only probes are sent; nothing for the others.",
                values: standing.openBreakers.map { (Self.target($0), 1) }
            ),
        ]
        let stored = await stored()
        families.append(Self.flag("fanfare_database_up", "1 while the database answers.", stored != nil))
        return families + (stored ?? [])
    }

    private func stored() async -> [MetricFamily]? {
        if let look = last.withLock({ $0 }), ContinuousClock.now - look.at < Self.age { return look.families }
        guard let report = try? await database.status().json else { return nil }
        let families = Self.queues(report["queues"]?.arrayValue ?? []) + Self.daemons(report)
        last.withLock { $0 = Look(families: families, at: .now) }
        return families
    }

    private static func daemons(_ report: JSONValue) -> [MetricFamily] {
        let alive = (report["daemons"]?.arrayValue ?? []).count { $0["alive"]?.boolValue == true }
        let ill = (report["health"]?.arrayValue ?? []).count { $0["ok"]?.boolValue == false }
        return [
            MetricFamily("fanfare_daemons_alive", .gauge, help: "Daemons with a lease.", values: [([], Double(alive))]),
            MetricFamily(
                "fanfare_health_problems",
                .gauge,
                help: "Rows of fanfare.health that are not ok.",
                values: [([], Double(ill))]
            ),
        ]
    }

    private static func queues(_ rows: [JSONValue]) -> [MetricFamily] {
        var pending: [(labels: [MetricLabel], value: Double)] = []
        var oldest: [String: Double] = [:]
        for row in rows {
            let labels = [("app", "app"), ("platform", "provider"), ("environment", "environment"), ("lane", "lane")]
                .map {
                    MetricLabel($0.1, row[$0.0]?.stringValue ?? "")
                }
            for state in ["ready", "in_flight", "waiting"] {
                let count = row[state]?.numberValue.flatMap { Double($0.literal) } ?? 0
                pending.append((labels + [MetricLabel("state", state)], count))
            }
            let age = row["oldest_seconds"]?.numberValue.flatMap { Double($0.literal) } ?? 0
            let lane = row["lane"]?.stringValue ?? ""
            oldest[lane] = max(oldest[lane] ?? 0, age)
        }
        return [
            MetricFamily(
                "fanfare_pending_pushes",
                .gauge,
                help: "Pairs of event and device that are still to be sent; the same from every daemon: use max.",
                values: merged(pending)
            ),
            MetricFamily(
                "fanfare_oldest_pending_seconds",
                .gauge,
                help: "How long the oldest batch has waited, by lane; the same from every daemon: use max.",
                values: ["transactional", "normal", "bulk"].map { ([MetricLabel("lane", $0)], oldest[$0] ?? 0) }
            ),
        ]
    }

    /// Rows that differ by a gate only are one series.
    private static func merged(
        _ values: [(labels: [MetricLabel], value: Double)]
    ) -> [(labels: [MetricLabel], value: Double)] {
        var sums: [[MetricLabel]: Double] = [:]
        for value in values { sums[value.labels, default: 0] += value.value }
        return sums.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { ($0.key, $0.value) }
    }

    private static func flag(_ name: String, _ help: String, _ isSet: Bool) -> MetricFamily {
        MetricFamily(name, .gauge, help: help, values: [([], isSet ? 1 : 0)])
    }

    /// As the breakers are called: `shop/apns/production`.
    private static func target(_ name: String) -> [MetricLabel] {
        zip(["app", "provider", "environment"], name.split(separator: "/")).map { MetricLabel($0, String($1)) }
    }
}
