internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareStore
internal import FanfareTools
internal import PostgresClient

/// The counts of devices, made once for all viewers.
struct FleetDigest: Sendable {
    /// The number of days that the chart shows.
    private static let days: Int64 = 14

    let counts: [DeviceCountLine]
    /// Devices that providers reported unregistered, by day.
    let disabled: ChartFigure
    /// The reasons why devices are disabled.
    let reasons: [OutcomeLine]
    /// The names of these reasons.
    let reasonNames: [String]
    /// The providers that have devices.
    let providers: [String]
    /// The prune fuses, without the times at which they blew.
    let fuses: [PruneFuseFigures]
    private let enabled: Int64
    private let deniedCount: Int64
    private let disabledCount: Int64
    private let isExact: Bool

    /// Returns the days of the chart.
    ///
    /// - Parameter now: the database's time, in microseconds since 1970.
    /// - Returns: the start of each day; the last day is the current one.
    static func times(at now: Int64) -> [Int64] {
        let day: Int64 = 86_400_000_000
        return (0..<days).map { now / day * day - (days - 1 - $0) * day }
    }

    /// Reads the counts of devices, of all apps if `app` is nil; `now` is the database's time, in microseconds since
    /// 1970.
    init(of app: String?, in database: ToolDatabase, at now: Int64) async throws(ToolError) {
        let since = Timestamp(microseconds: Self.times(at: now).first ?? now)
        let rows = try await database.run { connection throws(PostgresError) in
            (
                fuses: try PruneFuseFigures.read(of: app, on: connection),
                counts: try connection.run(SQL.sampleDevices(app)),
                outcomes: try connection.run(SQL.outcomesOverTime(since, 86_400, app)),
                meanings: try connection.run(SQL.outcomeMeanings())
            )
        }
        isExact = rows.counts.allSatisfy(\.isExact)
        enabled = rows.counts.filter { $0.disabledReason == nil }.reduce(0) { $0 + $1.devices }
        deniedCount = DeviceCountLine.denied(rows.counts)
        counts = DeviceCountLine.lines(rows.counts)
        let outcomes = StepCounts(rows.outcomes, Self.times(at: now))
        disabled =
            ReasonChart(
                id: "disabled",
                title: "Unregistered tokens per day",
                counts: outcomes,
                form: .day,
                isShown: \.isGone
            ).figure
        var sums: [String: Int64] = [:]
        for row in rows.counts {
            if let reason = row.disabledReason { sums[reason, default: 0] += row.devices }
        }
        let meanings = [OutcomeKey: String](rows.meanings)
        let whole = sums.values.reduce(0, +)
        disabledCount = whole
        reasons = sums.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { reason, devices in
            let meaning = meanings[OutcomeKey(outcome: "gone", reason: reason)]
            return OutcomeLine(
                badge: Badge(.quiet, meaning == nil ? "by the application" : "gone"),
                reason: reason,
                count: FigureText.count(devices),
                share: FigureText.share(devices, of: whole),
                bar: ShareBar.markup([(meaning == nil ? .own : .gone, devices)], of: whole),
                advice: meaning,
                href: PageAddress("/devices", ["state": "disabled", "reason": reason]).text
            )
        }
        reasonNames = sums.keys.sorted()
        providers = Set(rows.counts.map(\.provider)).sorted()
        fuses = rows.fuses
    }

    /// The sum of the listed targets; nil for a single target.
    var total: DeviceTotal? {
        guard counts.count > 1 else { return nil }
        let about = isExact ? "" : "≈ "
        return DeviceTotal(
            enabled: about + FigureText.count(enabled),
            denied: about + FigureText.count(deniedCount),
            disabled: about + FigureText.count(disabledCount)
        )
    }

    /// Returns the number of enabled devices.
    ///
    /// - Parameters:
    ///   - gone: the devices that providers reported unregistered.
    ///   - span: the time in which they did.
    /// - Returns: the figure.
    func keyFigure(gone: Int64, in span: PageSpan) -> KeyFigure {
        KeyFigure(
            "Devices",
            (isExact ? "" : "≈ ") + FigureText.short(Double(enabled)),
            note: "enabled · \(FigureText.short(Double(gone))) unregistered in \(span.label)"
        )
    }
}

/// The sum of the devices of all listed targets.
struct DeviceTotal: ViewContext {
    let enabled: String
    let denied: String
    let disabled: String
}

/// Devices of one target.
struct DeviceCountLine: ViewContext {
    let app: String
    let provider: String
    let environment: String
    /// What FCM's devices are reached by, `token` or `FID`; nil if all devices of the provider have tokens.
    let address: String?
    let href: String
    let enabled: String
    /// The enabled devices whose permission for notifications is denied.
    let denied: String
    let disabled: String
    let share: String
    let bar: Markup
}

extension DeviceCountLine {
    /// Counts the enabled devices whose permission is denied.
    ///
    /// - Parameter rows: the sampled counts.
    /// - Returns: their number.
    fileprivate static func denied(_ rows: [SampleDevicesRow]) -> Int64 {
        rows.filter { $0.disabledReason == nil && $0.permission == "denied" }.reduce(0) { $0 + $1.devices }
    }

    /// Sums devices by target.
    ///
    /// - Parameter rows: the sampled counts.
    /// - Returns: the lines in the order of the targets' names.
    fileprivate static func lines(_ rows: [SampleDevicesRow]) -> [DeviceCountLine] {
        let targets = Dictionary(grouping: rows) { [$0.app, $0.provider, $0.environment, $0.address] }
        // Other providers' devices have tokens only.
        let withFIDs = Set(rows.filter { $0.address == "fid" }.map { [$0.app, $0.provider] })
        return targets.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { target, rows in
            let enabled = rows.filter { $0.disabledReason == nil }.reduce(0) { $0 + $1.devices }
            let disabled = rows.filter { $0.disabledReason != nil }.reduce(0) { $0 + $1.devices }
            let about = rows.allSatisfy(\.isExact) ? "" : "≈ "
            return DeviceCountLine(
                app: target[0],
                provider: target[1],
                environment: target[2],
                address: withFIDs.contains([target[0], target[1]]) ? (target[3] == "fid" ? "FID" : "token") : nil,
                href: PageAddress("/devices", ["app": target[0], "provider": target[1]]).text,
                enabled: about + FigureText.count(enabled),
                denied: about + FigureText.count(denied(rows)),
                disabled: about + FigureText.count(disabled),
                share: FigureText.share(enabled, of: enabled + disabled),
                bar: ShareBar.markup([(.accepted, enabled), (.gone, disabled)], of: enabled + disabled)
            )
        }
    }
}

extension Visit {
    /// Returns the counts of devices.
    ///
    /// - Parameter app: the app; nil for all.
    /// - Returns: the digest, shared by all viewers for 30 s.
    /// - Throws: ``ToolError``.
    func fleet(of app: String?) async throws -> FleetDigest {
        try await queries.fleet.value(for: app) { [database, now] in
            try await FleetDigest(of: app, in: database, at: now)
        }
    }
}

/// The prune fuse of one app and environment.
struct FuseLine: ViewContext {
    let app: String
    let environment: String
    let badge: Badge
    /// The fuse's state, such as `0.4 % of 12,400 answers in 10 min; opens at 2 %`.
    let words: String
    let since: Moment?
    /// The command that resumes pruning.
    let command: String?
}

extension FuseLine {
    /// Shows a fuse.
    ///
    /// - Parameters:
    ///   - figures: the fuse's figures.
    ///   - health: the rows of `fanfare.health`, which have the time at which it blew.
    init(_ figures: PruneFuseFigures, _ health: [HealthRow]) {
        let (app, environment) = (figures.app, figures.environment)
        let alarm = health.first { $0.name == "alarm: prune_fuse/\(app)/\(environment)" }
        self.init(
            app: app,
            environment: environment,
            badge: figures.blownBy == nil ? Badge(.good, "OK") : Badge(.bad, "tripped"),
            words: Self.words(figures),
            since: figures.blownBy == nil ? nil : alarm?.since.map { Moment($0.microseconds, .short) },
            command: figures.blownBy == nil ? nil : "fanfare devices resume-pruning --app \(app)"
        )
    }

    private static func words(_ figures: PruneFuseFigures) -> String {
        let counts = figures.counts
        let answers = "\(FigureText.counted(Int64(counts.answers), "response")) in 10 min"
        switch figures.blownBy {
        case .weak?, .strong?:
            return
                "Too many tokens were reported invalid. Pruning is stopped until an operator fixes the cause and resumes it."
        case nil:
            let weak = FigureText.share(Int64(counts.weak), of: Int64(counts.answers))
            let strong = FigureText.share(Int64(counts.strong), of: Int64(counts.answers))
            return counts.answers == 0
                ? "No responses in 10 min."
                : """
                \(strong) of \(answers) reported invalid tokens (limit \(PruneFuse.strongPercent) %); inferred \(weak) \
                (limit \(PruneFuse.weakPercent) %).
                """
        }
    }
}
