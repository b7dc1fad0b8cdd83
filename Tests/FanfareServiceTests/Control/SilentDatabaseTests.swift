import FanfareCore
import Glibc
import Logging
import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// A database that accepts data and does not respond, while every kernel acknowledges: the control session detects it
/// for all sessions.
@Suite(.databaseOnOwnServer, .timeLimit(.minutes(5)))
struct SilentDatabaseTests {
    private static func context(
        trivialPatience: Duration,
        linkPatience: Duration = LinkWatch.patience
    ) -> StageContext {
        var database = DatabaseSessions(base: PostgresOptions(url: TestDatabase.current.url))
        database.trivialPatience = trivialPatience
        database.linkPatience = linkPatience
        return StageContext(
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            settings: StageSettings(),
            database: database
        )
    }

    /// A query for whether a session waits for the advisory lock 77.
    private static let isBlocked = """
        SELECT EXISTS (SELECT FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database
            WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.objid = 77 AND NOT l.granted)
        """

    @Test func aGivenUpSessionBeginsAnew() throws {
        let context = Self.context(trivialPatience: .seconds(10))
        let holder = try World().connection
        try holder.execute("SELECT pg_advisory_lock(77)")
        let waiter = Waiter(context)
        try holder.waitUntil(Self.isBlocked)
        #expect(context.database.open.abandonAll() == 1)
        waiter.thread.join()
        #expect(waiter.outcome == .init(waited: false, connections: 2))
        #expect(context.database.open.abandonAll() == 0, "it was closed")
    }

    @Test func whenTheControlSessionGetsNoAnswerNobodyWaitsOn() throws {
        let context = Self.context(trivialPatience: .milliseconds(500))
        let world = try World()
        try world.connection.execute("SELECT pg_advisory_lock(77)")
        let waiter = Waiter(context)
        try world.connection.waitUntil(Self.isBlocked)
        let control = Controller(alone: context)
        let thread = WorkerThread.start(name: "control") { control.run() }
        defer {
            control.stop()
            thread.join()
        }
        try world.connection.waitUntil("SELECT EXISTS (SELECT FROM fanfare.instances)")
        let pid = try world.connection.number(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'fanfare control' AND datname = current_database()"
        )
        // The backend no longer responds; its kernel still does.
        #expect(kill(pid_t(pid), SIGSTOP) == 0)
        defer { kill(pid_t(pid), SIGCONT) }
        waiter.thread.join()
        #expect(waiter.outcome == .init(waited: false, connections: 2))
        // The next control session has another owner number.
        try world.connection.waitUntil("SELECT max(id) > 1 FROM fanfare.instances")
    }

    @Test func whoWaitsAlthoughTheServerIsNotAtWorkWaitsInVain() {
        var watch = LinkWatch()
        let (start, later) = (ContinuousClock.now, ContinuousClock.now + .seconds(1))
        let one = OpenSessions.Waiting(backendPID: 1, since: start)
        let two = OpenSessions.Waiting(backendPID: 2, since: start)
        #expect(watch.check([one, two], atWork: [2]).isEmpty, "the answer may be on its way")
        #expect(watch.check([one, two], atWork: [2]) == [one])
        let next = OpenSessions.Waiting(backendPID: 1, since: later)
        #expect(watch.check([next, two], atWork: [2]).isEmpty, "that is another statement")
        #expect(watch.check([], atWork: []).isEmpty && watch.check([next], atWork: []).isEmpty)
    }

    @Test func aSessionWhoseLinkIsDeadIsGivenUpAlone() throws {
        let context = Self.context(trivialPatience: .seconds(10), linkPatience: .milliseconds(100))
        let world = try World()
        try world.connection.execute("SELECT pg_advisory_lock(77)")
        let waiter = Waiter(context)
        let cutOff = CutOffSession(context)
        let pid = try #require(cutOff.backend.take()?.first)
        // The backend is stopped before the query is sent, so the server considers it idle, as if the query had been
        // lost.
        #expect(kill(pid_t(pid), SIGSTOP) == 0)
        defer { kill(pid_t(pid), SIGCONT) }
        cutOff.isCutOff.ring()
        try world.connection.waitUntil(Self.isBlocked)
        let control = Controller(alone: context)
        let thread = WorkerThread.start(name: "control") { control.run() }
        defer {
            control.stop()
            thread.join()
        }
        cutOff.thread.join()
        #expect(cutOff.connections == 2)
        try world.connection.execute("SELECT pg_advisory_unlock(77)")
        waiter.thread.join()
        #expect(waiter.outcome == .init(waited: true, connections: 1), "the server is at work for it")
    }
}

/// A session that runs a query when it is told that its link is cut, and then once more.
private final class CutOffSession: Sendable {
    let backend = Mailbox<Int32>()
    let isCutOff = Bell()
    let thread: WorkerThread
    private let made = Locked(0)

    /// The number of connections that it opened.
    var connections: Int { made.withLock { $0 } }

    init(_ context: StageContext) {
        let (backend, isCutOff, made) = (backend, isCutOff, made)
        thread = WorkerThread.start(name: "cut off") {
            let session = Session(context.database.slices("cut-off"), of: context, stop: StopSignal())
            _ = session.attempt { connection throws(PostgresError) in
                backend.put(connection.backendPID)
                isCutOff.wait(timeout: .seconds(60))
                try connection.execute("SELECT")
            }
            _ = session.attempt { connection throws(PostgresError) in try connection.execute("SELECT") }
            session.close()
            let connections = session.generation
            made.withLock { $0 = connections }
        }
    }
}

/// A session that waits for the test's lock, and then runs a statement that ends at once.
private final class Waiter: Sendable {
    struct Outcome: Equatable {
        /// Whether the lock was acquired in the end.
        let waited: Bool
        /// The number of connections that were opened.
        let connections: Int
    }

    let thread: WorkerThread
    private let result: Locked<Outcome?>

    var outcome: Outcome? { result.withLock { $0 } }

    init(_ context: StageContext) {
        let result = Locked<Outcome?>(nil)
        self.result = result
        thread = WorkerThread.start(name: "waiter") {
            let session = Session(context.database.slices("waiting"), of: context, stop: StopSignal())
            let waited = session.attempt { connection throws(PostgresError) in
                try connection.execute("SET lock_timeout = 0; SELECT pg_advisory_lock(77)")
                return true
            }
            _ = session.attempt { connection throws(PostgresError) in try connection.execute("SELECT") }
            session.close()
            let outcome = Outcome(waited: waited ?? false, connections: session.generation)
            result.withLock { $0 = outcome }
        }
    }
}
