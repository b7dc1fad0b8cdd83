internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareSending
internal import FanfareStages
internal import FanfareStore
internal import Foundation
internal import Logging
internal import PostgresClient
internal import Threading

/// Keeps the daemon's lease, looks for orders and work, and frees the batches of dead daemons.
///
/// Its session holds the advisory lock that shows that this daemon is alive. When the session is lost, the owner number
/// is given up: batches of the old number are submitted for one more second at most, and the next session starts with a
/// new number.
struct Controller: Stage {
    let name = "control"
    private static let interval = Duration.milliseconds(500)

    let context: StageContext
    let bells: StageBells
    let orders: Orders
    let fuses: PruneFuses
    let figures: Figures
    private let stopping = StopSignal()

    func stop() {
        stopping.stop()
        bells.control.ring()
    }

    func run() {
        var tenure: Tenure?
        var wasRefused = false
        context.takeTurns(on: context.database.control(name), until: stopping) { session in
            let done: Void? = session.attempt { connection throws(PostgresError) in
                if var current = tenure {
                    try current.tick(on: connection)
                    tenure = current
                } else {
                    tenure = try Tenure(of: self, on: connection)
                    bells.claim.ring()
                }
            }
            if done == nil {
                // This includes a tenure that failed at its start: the lease may have begun by then, but the lock is
                // lost with the session.
                context.lease.lost()
                tenure = nil
                session.close()
                if session.isUnanswered { giveUpSilentSessions() }
                if session.isRefused && !wasRefused { endWork() }
                wasRefused = session.isRefused
                return
            }
            wasRefused = false
            bells.control.wait(timeout: Self.interval)
        } end: { session in
            guard let tenure else { return }
            _ = session.attempt { connection throws(PostgresError) in try tenure.leave(on: connection) }
        }
    }

    /// Abandons all sessions but the recorder's, because the daemon must not work on a database that it must not send
    /// from.
    ///
    /// The recorder still writes the outcomes of answered requests; its batches are fenced.
    private func endWork() {
        context.database.open.abandonAll(sparing: Recorder.name)
    }

    /// Abandons all sessions: if the control session's trivial statements get no answer, waiting for others only takes
    /// longer.
    ///
    /// If only the control session was cut off, the other sessions lose their current work and repeat it.
    private func giveUpSilentSessions() {
        let count = context.database.open.abandonAll()
        guard count > 0 else { return }
        context.logger.warning(
            "the database does not respond; reconnecting all sessions",
            metadata: .init([.count: "\(count)"])
        )
    }
}

/// The time of one control session, with one owner number, one lock and one lease.
private struct Tenure {
    private let stage: Controller
    private let owner: Int32
    private var renewedAt: Microseconds
    private var checkedAt: Microseconds = 0
    private var toldAt = Clocks.steady
    private var lookout: Lookout
    private var watch = DeathWatch()
    private var links = LinkWatch()
    private var clock = ClockWatch()

    init(of stage: Controller, on connection: PostgresConnection) throws(PostgresError) {
        self.stage = stage
        let context = stage.context
        // Before the lease begins, so that nothing is claimed under unknown orders.
        lookout = try Lookout(stage, on: connection)
        let start = Clocks.steady
        let entered = try connection.run(
            EnterInstance(
                daemon: context.settings.daemonName,
                host: hostName(),
                pid: ProcessInfo.processInfo.processIdentifier,
                version: context.settings.version,
                leaseMicroseconds: LeaseGuard.length,
                schemaVersion: Schema.versions.upperBound
            )
        )
        guard let instance = entered.first, instance.isLocked else {
            throw PostgresError(.protocolMismatch, message: "the lock of a new instance is taken")
        }
        owner = instance.id
        renewedAt = start
        context.lease.begin(owner: owner, startedAt: start, databaseNow: instance.databaseNow.microseconds)
        try renew(on: connection)
        try lookout.look(for: owner, on: connection)
        context.logger.notice("lease taken", metadata: .init([.instanceID: "\(owner)"]))
    }

    private var context: StageContext { stage.context }

    mutating func tick(on connection: PostgresConnection) throws(PostgresError) {
        try lookout.look(for: owner, on: connection)
        let now = Clocks.steady
        if now - renewedAt >= LeaseGuard.renewalInterval {
            try context.database.verify(connection, logger: context.logger)
            try renew(on: connection)
            try FuseSync(stage.fuses, logger: context.logger).judge(on: connection)
        }
        if now - toldAt >= TrafficTally.interval {
            toldAt = now
            try stage.figures.traffic.write(on: connection, logger: context.logger)
        }
        if now - checkedAt >= Micros.second {
            checkedAt = now
            try rescue(on: connection)
            try watchLinks(on: connection)
        }
    }

    /// Abandons this daemon's sessions that wait for an answer that will not come.
    private mutating func watchLinks(on connection: PostgresConnection) throws(PostgresError) {
        let waiting = context.database.open.waiting(longerThan: context.database.linkPatience)
        var atWork: Set<Int32> = []
        if !waiting.isEmpty {
            atWork = Set(try connection.run(SQL.sessionsAtWork(waiting.map(\.backendPID))))
        }
        for session in links.check(waiting, atWork: atWork) {
            context.database.open.abandon(session)
            let waited = (ContinuousClock.now - session.since).inMicroseconds / Micros.millisecond
            context.logger.warning(
                "database session stalled; reconnecting",
                metadata: .init([.durationMilliseconds: "\(waited)"])
            )
        }
    }

    /// Removes this daemon from the list of instances, so that other daemons need not wait for the end of its lease.
    func leave(on connection: PostgresConnection) throws(PostgresError) {
        try stage.figures.traffic.write(on: connection, logger: context.logger)
        let freed = try connection.run(Rescue(dead: owner)).first ?? 0
        if freed > 0 { context.logger.notice("batches given back", metadata: .init([.count: "\(freed)"])) }
    }

    private mutating func renew(on connection: PostgresConnection) throws(PostgresError) {
        let start = Clocks.steady
        let renewed = try connection.run(
            RenewLease(
                owner: owner,
                leaseMicroseconds: LeaseGuard.length,
                leads: context.status.leads,
                report: context.status.report(context, stage.figures, stage.fuses)
            )
        )
        guard let databaseNow = renewed.first else {
            throw PostgresError(
                .protocolMismatch,
                message: "another daemon took this one for dead",
                hint: "Was the machine stopped for longer than the lease?"
            )
        }
        renewedAt = start
        context.lease.renewed(startedAt: start, databaseNow: databaseNow.microseconds)
        compareClocks()
    }

    /// Compares the clocks: the queue uses the database's time, but provider tokens are signed with this machine's.
    private mutating func compareClocks() {
        let ahead = Clocks.wall - context.lease.databaseNow
        guard clock.changes(ahead: ahead) else { return }
        let metadata = Logger.Metadata([.clockAheadMilliseconds: "\(ahead / Micros.millisecond)"])
        if clock.isOff {
            context.logger.warning(
                "this machine's clock is not the database's; providers refuse what a wrong clock signed",
                metadata: metadata
            )
        } else {
            context.logger.notice("this machine's clock agrees with the database's again", metadata: metadata)
        }
    }

    /// Frees the batches of dead daemons.
    private mutating func rescue(on connection: PostgresConnection) throws(PostgresError) {
        let now = Clocks.steady
        let others = context.status.hasOthers ? try connection.run(OtherInstances(owner: owner)) : []
        watch.see(others, at: Clocks.steady)
        for other in others {
            if watch.shouldTryLock(of: other) {
                let isFree = try connection.run(SQL.tryLock(AdvisoryLock.instances, other.id)).first ?? false
                if isFree { watch.tookLock(of: other.id, at: now) }
            }
            guard watch.isDead(other, at: now) else { continue }
            let rescue = Rescue(
                dead: other.id,
                unlessRenewed: watch.isSilent(other.id, at: now) ? nil : other.leaseUntil
            )
            guard let freed = try connection.run(rescue).first else { continue }
            context.logger.notice(
                "batches of a dead daemon rescued",
                metadata: .init([.instanceID: "\(other.id)", .count: "\(freed)"])
            )
            if freed > 0 { stage.bells.claim.ring() }
        }
        for id in watch.settle(others, at: now) {
            _ = try connection.run(SQL.unlock(AdvisoryLock.instances, id))
        }
    }
}

private func hostName() -> String {
    let name = try? String(contentsOfFile: "/proc/sys/kernel/hostname", encoding: .utf8)
    return name?.trimmingCharacters(in: .whitespacesAndNewlines) ?? "unknown"
}
