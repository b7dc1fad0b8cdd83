internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient

/// Checks, for all daemons, that the queues move and that the outcomes of deliveries add up with what was planned.
///
/// A stalled item is distinguished from a long queue by checking twice (``Sightings``). Every query is bounded and uses
/// indexes.
struct Auditor {
    static let interval = 30 * Micros.second
    /// The age from which items are checked, and how long an item must then stay in place.
    private static let age = 30 * Micros.second
    private static let patience = 30 * Micros.second
    /// How long a batch may be in flight without an outcome: longer than any request's deadline.
    private static let flight = 15 * Micros.minute
    /// How long a plan's cursor may stay in place: plans take turns, and there may be many.
    private static let turn = 5 * Micros.minute

    /// The session may be shared with other work, so an audit query may not take longer than this.
    private static let settings = SessionSettings.nestedLoops.setting("statement_timeout", to: "5s")

    private let figures: AuditFigures
    private let logger: Logger
    private var events = Sightings<Int64>(patience: patience)
    private var queued = Sightings<StandingBatch>(patience: patience)
    private var flying = Sightings<StandingBatch>(patience: flight)
    private var cursors = Sightings<OpenedCursor>(patience: turn)
    private var log: [Int16: LogCursor] = [:]

    init(_ figures: AuditFigures, logger: Logger) {
        (self.figures, self.logger) = (figures, logger)
    }

    /// Runs all checks once, stores the findings, and logs changes.
    ///
    /// - Parameters:
    ///   - connection: a connection outside a transaction.
    ///   - now: steady time.
    /// - Throws: errors of the server.
    mutating func run(on connection: PostgresConnection, at now: Microseconds) throws(PostgresError) {
        let findings = try connection.transaction { connection throws(PostgresError) in
            try connection.setLocally(Self.settings)
            return try check(on: connection, at: now)
        }
        for finding in findings { try publish(finding, on: connection) }
    }

    /// Runs all checks once.
    ///
    /// - Returns: a finding for each check, without checks that found nothing but have not run long enough to be
    ///   conclusive.
    mutating func check(
        on connection: PostgresConnection,
        at now: Microseconds
    ) throws(PostgresError) -> [AuditFinding] {
        var findings: [AuditFinding] = []
        let waiting = try connection.run(SQL.waitingEvents(Self.age))
        let unplanned = events.check(waiting.map(\.id), at: now)
        let stuck = AuditFinding(unplanned: waiting.filter { unplanned.contains($0.id) })
        if stuck.count > 0 || events.isConclusive(at: now) { findings.append(stuck) }

        let batches = try connection.run(SQL.standingBatches(Self.age))
        let standing = queued.check(batches.filter { $0.state != .inFlight }, at: now)
            .union(flying.check(batches.filter { $0.state == .inFlight }, at: now))
        let overdue = AuditFinding(overdue: batches.filter(standing.contains))
        if overdue.count > 0 || queued.isConclusive(at: now) { findings.append(overdue) }

        let plans = try connection.run(SQL.openedCursors())
        let stalled = AuditFinding(stalled: plans.filter(cursors.check(plans, at: now).contains))
        if stalled.count > 0 || cursors.isConclusive(at: now) { findings.append(stalled) }

        findings.append(AuditFinding(unbalanced: try closed(on: connection)))
        return findings
    }

    /// Returns the batches closed since the last check whose deliveries do not add up.
    private mutating func closed(
        on connection: PostgresConnection
    ) throws(PostgresError) -> [(batch: ClosedBatch, words: String)] {
        var batches: [ClosedBatch] = []
        for partition in try connection.run(SQL.logLengths()) {
            var cursor = log[partition.day] ?? LogCursor()
            cursor.begin(blocks: partition.blocks)
            let rows = try connection.run(SQL.closedBatches(partition.day, cursor.after.text))
            cursor.passed(rows.map(\.place))
            log[partition.day] = cursor
            batches += rows.map(\.batch)
        }
        var retried: [Int64: Int64] = [:]
        let parents = batches.filter { $0.retrying > 0 }
        if !parents.isEmpty {
            for row in try connection.run(SQL.retriedDeliveries(parents.map(\.id), parents.map(\.closedDay))) {
                retried[row.id] = row.deliveries
            }
        }
        return batches.compactMap { batch in
            batch.imbalance(retried: retried[batch.id] ?? 0).map { (batch, $0) }
        }
    }

    private func publish(_ finding: AuditFinding, on connection: PostgresConnection) throws(PostgresError) {
        guard let stored = try connection.run(SQL.storeFinding(finding)).first else { return }
        let check = finding.check.rawValue
        let figure = AuditFigure(found: stored.found, oldest: finding.oldest)
        figures.found(figure, by: check)
        let metadata = Logger.Metadata([.detail: "\(check): \(finding.detail)", .count: "\(stored.found)"])
        if stored.before == 0 && stored.found > 0 {
            logger.warning("audit: problem found", metadata: metadata)
        } else if stored.before > 0 && stored.found == 0 {
            logger.notice("audit: recovered", metadata: metadata)
        }
    }
}
