import FanfareCore
import Logging
import PostgresClient
import PushTransport
import Threading

@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// A daemon without threads, sockets and files: its stages run the daemon's own code, and what they wait for is
/// simulated.
final class VirtualDaemon {
    let world: Simulation
    let server: Server
    let scenario: Scenario
    let context: StageContext
    let orders = Orders()
    let targets = TargetDirectory()
    let limits: Limits
    private var wallSkew: Microseconds
    private let jitter: Locked<Chance>
    private(set) var isAlive = true
    /// The end of its SIGSTOP.
    private var stoppedUntil: Microseconds = 0
    /// The end of its separation from the database.
    private var cutOffUntil: Microseconds = 0
    /// All its owner numbers so far.
    var owners: Set<Int32> = []
    /// The sent deliveries that are not known to be recorded, with the tokens of their claims.
    var unrecorded: [Delivery: Int64] = [:]
    /// Called after a statement was sent, and occasionally just before.
    var reachedStep: (VirtualDaemon) -> Void = { _ in }

    // Control.
    let control: VirtualSession
    var tenure: VirtualTenure?
    // Plan.
    let planning: VirtualSession
    let slicing: VirtualSession
    var floor = OutboxFloor()
    // Claim.
    let claiming: VirtualSession
    var floors = ClaimFloors()
    var left: [ClaimedBatch] = []
    var held = HeldBatches()
    var doubts = DoubtfulClaims()
    var turns = PacedTurns()
    /// The version of the gates that this state is based on.
    var gatesSeen = 0
    var leaseToken: Int64
    // Send.
    var senders: [Int16: VirtualSender] = [:]
    // Record.
    let recording: VirtualSession
    let mailbox = Mailbox<RecorderMessage>()
    var ledger = RecordLedger()
    var isRecording = false
    // Maintain and schedule.
    let sweeping: VirtualSession
    let scheduling: VirtualSession
    /// The run that checks its suppressions; nil if the run does not.
    weak var suppressions: Run?

    init(world: Simulation, server: Server, scenario: Scenario, provider: Provider) {
        self.world = world
        self.server = server
        self.scenario = scenario
        var settings = StageSettings()
        settings.batchSize = scenario.batchSize
        settings.unrecorded = scenario.unrecorded
        settings.maximumAttempts = 6
        settings.deliveryLogging = .none
        context = StageContext(
            logger: Logger(label: "simulated") { _ in SwiftLogNoOpLogHandler() },
            settings: settings,
            database: DatabaseSessions(base: PostgresOptions(url: "postgres:///simulated"))
        )
        limits = Limits(capacity: scenario.unrecorded)
        wallSkew = world.chance.time(-2 * Micros.second...2 * Micros.second)
        jitter = Locked(Chance(seed: world.chance.next()))
        leaseToken = Int64(world.chance.next() >> 2)
        control = VirtualSession(server, isFlushed: true)
        planning = VirtualSession(server, isFlushed: false, mayFail: true)
        slicing = VirtualSession(server, isFlushed: true, mayFail: true)
        claiming = VirtualSession(server, isFlushed: false, mayFail: true)
        recording = VirtualSession(server, isFlushed: true, mayFail: true)
        sweeping = VirtualSession(server, isFlushed: true, mayFail: true)
        scheduling = VirtualSession(server, isFlushed: true, mayFail: true)
        targets.replace([
            Target(id: 1, app: "shop", provider: "apns", environment: "production"),
            Target(id: 2, app: "shop", provider: "apns", environment: "sandbox"),
        ])
        for target in targets.all.values.sorted(by: { $0.id < $1.id }) {
            senders[target.id] = VirtualSender(target: target, daemon: self, provider: provider)
        }
    }

    func start() {
        after(0) { self.enter() }
        after(0) { self.plan() }
        after(0) { self.slice() }
        after(0) { self.claim() }
        guard suppressions != nil else { return }
        after(0) { self.sweep() }
        after(0) { self.flush() }
    }

    private var sessions: [VirtualSession] {
        [control, planning, slicing, claiming, recording, sweeping, scheduling]
    }

    // MARK: Time

    /// Schedules an action of this daemon, which is dropped if the daemon is dead by then, and postponed if it is
    /// stopped.
    func after(_ delay: Microseconds, _ body: @escaping () -> Void) {
        world.after(delay) { self.perform(body) }
    }

    private func perform(_ body: @escaping () -> Void) {
        guard isAlive else { return }
        guard world.now >= stoppedUntil else {
            // All threads continue at once, in no order.
            let start = stoppedUntil - world.now + world.chance.time(0...3 * Micros.millisecond)
            return after(start, body)
        }
        let clocks = Clocks.Simulated(
            steady: world.now,
            wall: Server.epoch + world.now + wallSkew,
            unit: { [jitter] in jitter.withLock { $0.unit() } }
        )
        Clocks.$simulated.withValue(clocks, operation: body)
    }

    // MARK: Faults

    /// Simulates SIGKILL, or a host without power.
    func kill() {
        isAlive = false
        for session in sessions { session.close() }
    }

    /// Simulates SIGSTOP, and SIGCONT later.
    func stop(for span: Microseconds) { stoppedUntil = max(stoppedUntil, world.now + span) }

    /// Sets the clock of its machine.
    func setClock(by span: Microseconds) { wallSkew += span }

    /// Simulates a network failure between it and the database that the server notices.
    func cutOff(for span: Microseconds) {
        cutOffUntil = world.now + span
        for session in sessions { session.id.map { server.end($0) } }
    }

    // MARK: Database

    /// Runs a statement on a session; reconnects after a pause if the session was lost.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - flushed: whether the commit waits for the disk; nil for the session's setting.
    ///   - work: the statement.
    ///   - answered: called with the result, or with nil after an error.
    func run<Result>(
        _ session: VirtualSession,
        flushed: Bool? = nil,
        _ work: @escaping (inout Rows) -> Result,
        answered: @escaping (Result?) -> Void
    ) {
        guard world.now >= cutOffUntil, let id = session.connected() else { return fail(session, answered) }
        reachedStep(self)
        server.run(on: id, flushed: flushed ?? session.isFlushed, mayFail: session.mayFail, work) { result in
            self.perform {
                guard let result else { return self.fail(session, answered) }
                session.backoff.reset()
                answered(result)
            }
        }
    }

    private func fail<Result>(_ session: VirtualSession, _ answered: @escaping (Result?) -> Void) {
        session.close()
        after(session.backoff.next(random: world.chance.unit())) { answered(nil) }
    }
}

/// A session of a virtual daemon.
final class VirtualSession {
    private let server: Server
    let isFlushed: Bool
    /// Whether it may be lost at random; the control session is lost only on purpose.
    let mayFail: Bool
    var backoff = ReconnectBackoff()
    private(set) var id: Int?

    init(_ server: Server, isFlushed: Bool, mayFail: Bool = false) {
        self.server = server
        self.isFlushed = isFlushed
        self.mayFail = mayFail
    }

    func connected() -> Int? {
        if id == nil { id = server.connect() }
        return id
    }

    func close() {
        if let id { server.end(id) }
        id = nil
    }
}
