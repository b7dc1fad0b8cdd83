internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient

/// Looks, for all daemons, whether what should move does, and whether what was planned adds up with what became of it.
///
/// What stands still is told from what is only long by looking twice: ``Sightings``. Every look is bounded and goes by indexes.
struct Auditor {
    static let interval = 30 * Micros.second
    /// From which age on something is looked at, and how long it must then be seen.
    private static let age = 30 * Micros.second
    private static let patience = 30 * Micros.second
    /// How long a batch may be in flight without an outcome: longer than any deadline of a request.
    private static let flight = 15 * Micros.minute
    /// Plans take turns, and there may be many.
    private static let turn = 5 * Micros.minute

    /// The session may be one for other work; and whatever takes longer than this is not worth knowing.
    private static let settings = SessionSettings.nestedLoops.setting("statement_timeout", to: "5s")

    private let context: StageContext
    private var events = Sightings<Int64>(patience: patience)
    private var queued = Sightings<StandingBatch>(patience: patience)
    private var flying = Sightings<StandingBatch>(patience: flight)
    private var cursors = Sightings<OpenedCursor>(patience: turn)
    private var log: [Int16: LogCursor] = [:]

    init(context: StageContext) {
        self.context = context
    }

    /// Looks at everything once, stores what is found, and says what changed.
    ///
    /// - Parameters:
    ///   - connection: outside a transaction.
    ///   - now: steady time.
    /// - Throws: what the database says.
    mutating func run(on connection: PostgresConnection, at now: Microseconds) throws(PostgresError) {
        let findings = try connection.transaction { connection throws(PostgresError) in
            try connection.setLocally(Self.settings)
            return try check(on: connection, at: now)
        }
        for finding in findings { try publish(finding, on: connection) }
    }

    /// Looks at everything once.
    ///
    /// - Returns: a finding for each check, but for those that have not looked long enough to say that nothing is wrong.
    mutating func check(
        on connection: PostgresConnection,
        at now: Microseconds
    ) throws(PostgresError) -> [AuditFinding] {
        var findings: [AuditFinding] = []
        let waiting = try connection.run(WaitingEvents(ageMicroseconds: Self.age))
        let unplanned = events.check(waiting.map(\.id), at: now)
        let stuck = AuditFinding(unplanned: waiting.filter { unplanned.contains($0.id) })
        if stuck.count > 0 || events.isConclusive(at: now) { findings.append(stuck) }

        let batches = try connection.run(StandingBatches(ageMicroseconds: Self.age))
        let standing = queued.check(batches.filter { $0.state != .inFlight }, at: now)
            .union(flying.check(batches.filter { $0.state == .inFlight }, at: now))
        let overdue = AuditFinding(overdue: batches.filter(standing.contains))
        if overdue.count > 0 || queued.isConclusive(at: now) { findings.append(overdue) }

        let plans = try connection.run(OpenedCursors())
        let stalled = AuditFinding(stalled: plans.filter(cursors.check(plans, at: now).contains))
        if stalled.count > 0 || cursors.isConclusive(at: now) { findings.append(stalled) }

        findings.append(AuditFinding(unbalanced: try closed(on: connection)))
        return findings
    }

    /// Looks at what was closed since the last look.
    private mutating func closed(
        on connection: PostgresConnection
    ) throws(PostgresError) -> [(batch: ClosedBatch, words: String)] {
        var batches: [ClosedBatch] = []
        for partition in try connection.run(LogLengths()) {
            var cursor = log[partition.day] ?? LogCursor()
            cursor.begin(blocks: partition.blocks)
            let rows = try connection.run(ClosedBatches(day: partition.day, after: cursor.after))
            cursor.passed(rows.map(\.place))
            log[partition.day] = cursor
            batches += rows.map(\.batch)
        }
        var retried: [Int64: Int64] = [:]
        let parents = batches.filter { $0.retrying > 0 }
        if !parents.isEmpty {
            for row in try connection.run(RetriedDeliveries(batches: parents)) { retried[row.id] = row.deliveries }
        }
        return batches.compactMap { batch in
            batch.imbalance(retried: retried[batch.id] ?? 0).map { (batch, $0) }
        }
    }

    private func publish(_ finding: AuditFinding, on connection: PostgresConnection) throws(PostgresError) {
        guard let stored = try connection.run(StoreFinding(finding: finding)).first else { return }
        let check = finding.check.rawValue
        let figure = AuditFigure(found: stored.found, oldest: finding.oldest)
        context.audit.found(figure, by: check)
        let metadata = Logger.Metadata([.detail: "\(check): \(finding.detail)", .count: "\(stored.found)"])
        if stored.before == 0 && stored.found > 0 {
            context.logger.warning("audit: problem found", metadata: metadata)
        } else if stored.before > 0 && stored.found == 0 {
            context.logger.notice("audit: recovered", metadata: metadata)
        }
    }
}
