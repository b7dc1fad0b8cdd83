import FanfareCore
import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// The log lines of an outage, with a clock that the test advances.
struct DatabaseOutageTests {
    private static let refused = PostgresError(.connectionFailed, message: "refused")
    private static let startingUp = PostgresError(.connectionFailed, sqlState: "57P03", message: "starting up")
    private static let ended = PostgresError(.connectionLost, sqlState: "57P01", message: "ended")
    private static let readOnly = PostgresError(.server, sqlState: "25006", message: "cannot write")

    private let now: Locked<Microseconds>
    private let log: CapturedLog
    private let outage: DatabaseOutage

    init() {
        let (now, log) = (Locked<Microseconds>(0), CapturedLog())
        (self.now, self.log) = (now, log)
        outage = DatabaseOutage(logger: log.logger, now: { now.withLock { $0 } })
    }

    private func pass(seconds: Int64) {
        now.withLock { $0 += seconds * Micros.second }
    }

    private func fail(_ stages: String..., with error: PostgresError = DatabaseOutageTests.refused) {
        for stage in stages { outage.failed(stage, with: error, retryIn: 50 * Micros.millisecond) }
    }

    @Test func allStagesTogetherSayOnceThatItBeginsAndOnceThatItIsOver() {
        for _ in 0..<20 {
            fail("planner", "claimer", "control")
            pass(seconds: 1)
        }
        for stage in ["planner", "listener", "claimer"] { outage.works(stage) }
        pass(seconds: 1)
        for stage in ["control", "control", "planner"] { outage.works(stage) }
        #expect(
            log.end() == [
                #"WARNING  the database is not reachable error="PostgreSQL: connection failed: refused" retry_ms=50 stage=planner"#,
                "NOTICE   the database is reachable again duration_ms=21000",
            ]
        )
    }

    @Test func whileItLastsItIsSaidNowAndThenWithTheReasonAsItIsThen() {
        fail("planner")
        for second in 1...65 {
            pass(seconds: 1)
            fail(second.isMultiple(of: 2) ? "claimer" : "planner", with: Self.startingUp)
        }
        let still = #"error="PostgreSQL: connection failed (SQLSTATE 57P03): starting up" retry_ms=50 sqlstate=57P03"#
        #expect(
            log.end() == [
                #"WARNING  the database is not reachable error="PostgreSQL: connection failed: refused" retry_ms=50 stage=planner"#,
                #"WARNING  the database is still not reachable duration_ms=30000 \#(still) stage="claimer, planner""#,
                #"WARNING  the database is still not reachable duration_ms=60000 \#(still) stage="claimer, planner""#,
            ]
        )
    }

    @Test func thatItTakesNoWritesIsSaidAtOnce() {
        fail("control", with: Self.ended)
        pass(seconds: 2)
        for _ in 0..<3 { fail("control", with: Self.readOnly) }
        fail("control", with: Self.ended)
        pass(seconds: 1)
        outage.works("control")
        let lines = log.end()
        #expect(lines.count == 3)
        #expect(lines[0].hasPrefix("WARNING  the database is not reachable error="))
        #expect(lines[1].hasPrefix("WARNING  the database is read-only, as a standby is; database.url must lead"))
        #expect(lines[1].contains(" duration_ms=2000 ") && lines[1].hasSuffix(" sqlstate=25006 stage=control"))
        #expect(lines[2] == "NOTICE   the database is reachable again duration_ms=3000")
    }

    @Test func theNextOneIsSaidAgain() {
        for _ in 0..<2 {
            fail("planner")
            outage.works("planner")
        }
        #expect(log.end().map { $0.prefix(7) } == ["WARNING", "NOTICE ", "WARNING", "NOTICE "])
    }

    @Test func whoEndedIsNotWaitedFor() {
        fail("planner", "recorder")
        outage.left("planner")
        outage.works("recorder")
        #expect(log.end().last == "NOTICE   the database is reachable again duration_ms=0")
    }

    @Test func nothingIsSaidWhileAllIsWell() {
        for stage in ["planner", "recorder"] { outage.works(stage) }
        outage.left("planner")
        #expect(log.end().isEmpty)
    }

    @Test(
        arguments: [
            (.connectionFailed, nil, true), (.connectionFailed, "57P03", true), (.connectionFailed, "53300", true),
            (.connectionFailed, "28P01", true), (.connectionLost, nil, true), (.connectionLost, "57P01", true),
            (.cancelled, nil, true), (.invalidOptions, nil, true), (.server, "57P01", true), (.server, "25006", true),
            (.cancelled, "57014", false),
            (.server, "22012", false), (.server, "40P01", false), (.server, "53100", false), (.server, "42501", false),
            (.protocolMismatch, nil, false),
        ] as [(PostgresError.Code, String?, Bool)]
    )
    func whatIsWrongWithAStatementIsNoOutage(code: PostgresError.Code, sqlState: String?, isOutage: Bool) {
        #expect(PostgresError(code, sqlState: sqlState, message: "").isOutage == isOutage)
    }
}

/// The log lines of an outage that sessions find by themselves.
@Suite(.database, .timeLimit(.minutes(5)))
struct SessionOutageTests {
    @Test func sessionsThatAreLostSayItTogether() throws {
        let log = CapturedLog()
        let world = try World(logger: log.logger)
        let one = Session(world.context.database.slices("one"), of: world.context, stop: StopSignal())
        let two = Session(world.context.database.slices("two"), of: world.context, stop: StopSignal())
        defer {
            one.close()
            two.close()
        }
        #expect(run("SELECT", in: one) && run("SELECT", in: two))
        // ALTER DATABASE fails for the database of the current session.
        let allow = "UPDATE pg_database SET datallowconn = %s WHERE datname = current_database()"
        try world.connection.execute(allow.replacing("%s", with: "false"))
        try end(["one", "two"], in: world)
        // Each session first finds its connection lost, and then cannot connect again.
        for _ in 0..<2 { #expect(!run("SELECT", in: one) && !run("SELECT", in: two)) }
        try world.connection.execute(allow.replacing("%s", with: "true"))
        // An SQL error is not an outage, and is logged as usual.
        #expect(!run("SELECT 1 / 0", in: one))
        #expect(run("SELECT", in: two) && run("SELECT", in: one))
        let lines = log.end().filter { !$0.hasPrefix("INFO") }
        #expect(lines.count == 3, "\(lines)")
        #expect(lines[0].hasPrefix("WARNING  the database is not reachable error=") && lines[0].hasSuffix(" stage=one"))
        #expect(lines[1].hasPrefix("WARNING  database statement failed error="))
        #expect(lines[1].hasSuffix(" sqlstate=22012 stage=one"))
        #expect(lines[2].hasPrefix("NOTICE   the database is reachable again duration_ms="))
    }

    @Test func aSessionThatWasLostLongAgoIsNoOutage() throws {
        let log = CapturedLog()
        let world = try World(logger: log.logger)
        let one = Session(world.context.database.slices("one"), of: world.context, stop: StopSignal())
        defer { one.close() }
        #expect(run("SELECT", in: one))
        try end(["one"], in: world)
        #expect(!run("SELECT", in: one))
        #expect(run("SELECT", in: one))
        let lines = log.end()
        #expect(
            lines.count == 1 && lines[0].hasPrefix("INFO     database session lost; reconnecting error="),
            "\(lines)"
        )
    }

    @Test func aPlannerSaysThatItWorksBeforeItsBacklogIsDrained() throws {
        let log = CapturedLog()
        let world = try World(logger: log.logger)
        let lost = PostgresError(.connectionLost, message: "lost")
        world.context.outage.failed(Planner.name, with: lost, retryIn: 50 * Micros.millisecond)
        var loop = world.loop()
        _ = try loop.begin(on: world.connection)
        #expect(log.end().last?.hasPrefix("NOTICE   the database is reachable again") == true)
    }

    /// Terminates the sessions of some stages, as an administrator would.
    private func end(_ stages: [String], in world: World) throws {
        let names = stages.map { "'fanfare \($0)'" }.joined(separator: ", ")
        let ended = try world.connection.number(
            """
            SELECT count(*) FILTER (WHERE pg_terminate_backend(pid, 60000)) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name IN (\(names))
            """
        )
        #expect(ended == stages.count)
    }

    private func run(_ sql: String, in session: Session) -> Bool {
        let done: Void? = session.attempt { connection throws(PostgresError) in try connection.execute(sql) }
        return done != nil
    }
}
