internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareDaemon
internal import FanfareHTTP
internal import FanfareMetrics
internal import FanfareRecords
internal import FanfareService
internal import FanfareTools
internal import Foundation
internal import PostgresClient
internal import Threading

/// The metrics that `/metrics` reads on request, beside the daemon's counters.
///
/// Figures from the database are read at most every five seconds for all clients, including after a failed query; while
/// the database is not available they are left out. Credential files are read once a minute.
final class DaemonFigures: Sendable {
    /// The age at which figures from the database are read again.
    static let age = Duration.seconds(5)
    /// The age at which credential files are read again.
    static let credentialAge = Duration.seconds(60)

    private let database: ToolDatabase
    /// The shared query for the database's figures; its only key is a constant.
    let query: SharedQuery<Int, [MetricFamily]>
    private let lastCredentials = Locked<(family: MetricFamily, at: ContinuousClock.Instant)?>(nil)

    /// Creates the figures; nothing is read yet.
    ///
    /// - Parameters:
    ///   - database: the database to read.
    ///   - age: the age at which its figures are read again.
    init(_ database: ToolDatabase, age: Duration = age) {
        self.database = database
        query = SharedQuery(age, keepsFailures: true)
    }

    /// Returns the current figures.
    ///
    /// - Parameter daemon: the daemon that serves them.
    /// - Returns: the metrics by name.
    func families(_ daemon: ListenedDaemon) async -> [MetricFamily] {
        let standing = daemon.readiness()
        var families = [
            FigureMetric.buildInfo.family([([MetricLabel("version", daemon.version)], 1)]),
            FigureMetric.leaseHeld.family(standing.holdsLease ? 1 : 0),
            FigureMetric.listening.family(standing.isListening ? 1 : 0),
            FigureMetric.listenProved.family(standing.listenProvedAt.map { [([], $0)] } ?? []),
            FigureMetric.breakerOpen.family(
                standing.openBreakers.map { (Self.labels(["app", "provider", "environment"], $0), 1) }
            ),
            FigureMetric.pruneFuseBlown.family(
                standing.blownFuses.map { (Self.labels(["app", "environment"], $0), 1) }
            ),
            credentials(of: daemon),
        ]
        let stored = await stored()
        families.append(FigureMetric.databaseUp.family(stored == nil ? 0 : 1))
        return families + (stored ?? [])
    }

    /// Returns the expiry of credentials in this machine's files; `fanfare check` reports unreadable files.
    private func credentials(of daemon: ListenedDaemon) -> MetricFamily {
        if let last = lastCredentials.withLock({ $0 }), ContinuousClock.now - last.at < Self.credentialAge {
            return last.family
        }
        let now = Int64(Date().timeIntervalSince1970)
        let all = daemon.configuration().credentialExpiries(environment: daemon.environment, now: now)
        let family = FigureMetric.credentialExpires.family(
            all.compactMap { credential in
                credential.endsAt.map { end in
                    (
                        [MetricLabel("app", credential.app ?? ""), MetricLabel("credential", credential.credential)],
                        Double(end)
                    )
                }
            }
        )
        lastCredentials.withLock { $0 = (family, .now) }
        return family
    }

    /// Returns the database's figures; nil if the query failed.
    func stored() async -> [MetricFamily]? {
        try? await query.value(for: 0) { [database] in
            let report = try await database.status().json
            let ages = try await database.rows(of: SQL.readyAges())
            let campaigns = try await database.rows(of: SQL.listLiveCampaigns())
            let reports = try await database.rows(of: SQL.countReportsPending()).first ?? 0
            return Self.queues(report["queues"]?.arrayValue ?? []) + Self.daemons(report)
                + [Self.ages(ages)] + Self.campaigns(campaigns)
                + [FigureMetric.reportsPending.family(Double(reports))]
        }
    }

    private static func daemons(_ report: JSONValue) -> [MetricFamily] {
        let alive = (report["daemons"]?.arrayValue ?? []).count { $0["alive"]?.boolValue == true }
        let ill = (report["health"]?.arrayValue ?? []).count { $0["ok"]?.boolValue == false }
        return [FigureMetric.daemonsAlive.family(Double(alive)), FigureMetric.healthProblems.family(Double(ill))]
    }

    private static func queues(_ rows: [JSONValue]) -> [MetricFamily] {
        var pending: [(labels: [MetricLabel], value: Double)] = []
        var oldest: [String: Double] = [:]
        for row in rows {
            let labels = [("app", "app"), ("provider", "provider"), ("environment", "environment"), ("lane", "lane")]
                .map { MetricLabel($0.1, row[$0.0]?.stringValue ?? "") }
            for state in ["ready", "in_flight", "waiting"] {
                let count = row[state]?.numberValue.flatMap { Double($0.literal) } ?? 0
                pending.append((labels + [MetricLabel("state", state)], count))
            }
            let age = row["oldest_seconds"]?.numberValue.flatMap { Double($0.literal) } ?? 0
            let lane = row["lane"]?.stringValue ?? ""
            oldest[lane] = max(oldest[lane] ?? 0, age)
        }
        return [
            FigureMetric.pending.family(pending),
            FigureMetric.oldestPending.family(
                Lane.allCases.map { ([MetricLabel("lane", $0.name)], oldest[$0.name] ?? 0) }
            ),
        ]
    }

    /// Returns the age of the oldest due batch; targets of provider-managed audiences share one series with device
    /// targets.
    private static func ages(_ rows: [ReadyAge]) -> MetricFamily {
        let ages = rows.map { row in
            (
                [
                    MetricLabel("app", row.app), MetricLabel("provider", row.provider),
                    MetricLabel("environment", row.environment), MetricLabel("lane", row.lane.name),
                ],
                row.seconds
            )
        }
        let longest = Dictionary(ages, uniquingKeysWith: max)
        return FigureMetric.oldestReady.family(
            longest.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { ($0.key, $0.value) }
        )
    }

    private static func campaigns(_ rows: [LiveCampaigns]) -> [MetricFamily] {
        let states: [(String, KeyPath<LiveCampaigns, Int64>)] = [
            ("querying", \.querying), ("running", \.running), ("held", \.held), ("aborting", \.aborting),
        ]
        let runs = rows.flatMap { row in
            states.map { state, count in
                ([MetricLabel("app", row.app), MetricLabel("state", state)], Double(row[keyPath: count]))
            }
        }
        return [
            FigureMetric.campaignRuns.family(runs),
            FigureMetric.campaignPushes.family(rows.map { ([MetricLabel("app", $0.app)], Double($0.remaining)) }),
        ]
    }

    /// Splits names such as `shop/apns/production`, of breakers and fuses, into labels.
    private static func labels(_ names: [String], _ place: String) -> [MetricLabel] {
        zip(names, place.split(separator: "/")).map { MetricLabel($0, String($1)) }
    }
}
