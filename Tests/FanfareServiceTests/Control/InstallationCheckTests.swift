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
@testable import FanfareStore

/// A database from which this installation must stop sending, and may send again later.
@Suite(.database, .timeLimit(.minutes(5)))
struct InstallationCheckTests {
    private let world: World
    private let context: StageContext
    private let log = CapturedLog()

    init() throws {
        world = try World()
        try world.connection.execute("SELECT fanfare.adopt('here')")
        var database = DatabaseSessions(base: PostgresOptions(url: TestDatabase.current.url))
        database.place = .installation("here")
        context = StageContext(
            logger: log.logger,
            settings: StageSettings(),
            database: database
        )
    }

    private static let version = Schema.versions.upperBound

    /// The statements that make the database another installation's, those that undo it, and the expected messages.
    static let strangers = [
        (
            "UPDATE fanfare.installation SET system_identifier = 7", "SELECT fanfare.adopt('here')",
            "this database is a copy of the one that was adopted"
        ),
        (
            // The identifier can no longer be read. After another adoption a daemon works without it.
            "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC",
            "SELECT fanfare.adopt('here'); INSERT INTO fanfare.timelines VALUES (0, fanfare.timeline())",
            "this database is a copy of the one that was adopted"
        ),
        (
            "SELECT fanfare.adopt('staging')", "SELECT fanfare.adopt('here')",
            "this database belongs to installation staging, the configuration says here"
        ),
        (
            "DELETE FROM fanfare.installation", "SELECT fanfare.adopt('here')", "this database is not adopted"
        ),
        (
            "UPDATE fanfare.schema_version SET version = 9, oldest_daemon = 9",
            "UPDATE fanfare.schema_version SET version = \(version), oldest_daemon = 1",
            "the database has schema version 9, this daemon works with"
        ),
        (
            "ALTER TABLE fanfare.installation RENAME TO away", "ALTER TABLE fanfare.away RENAME TO installation",
            "this database has no Fanfare schema"
        ),
    ]

    @Test(arguments: strangers)
    func aSessionThatLeadsToAStrangersDatabaseDoesNothingThere(harm: String, mend: String, reason: String) throws {
        let session = Session(context.database.promptQueue("claimer"), of: context, stop: StopSignal())
        defer { session.close() }
        let work = { session.attempt(Self.ask) }
        #expect(work() != nil && session.generation == 1)
        session.close()
        try world.connection.execute(harm)
        #expect(work() == nil && session.isRefused)
        try world.connection.execute(mend)
        #expect(work() != nil && !session.isRefused && session.generation == 2)
        let lines = log.end()
        #expect(lines.count == 2)
        #expect(lines[0].hasPrefix("ERROR    nothing is sent from this database until this is fixed error="))
        #expect(lines[0].contains(reason) && lines[0].contains(" Hint: "))
        #expect(lines[1].hasPrefix("NOTICE   the database is reachable again"))
    }

    @Test func aTenureEndsWithTheRightToSendAndAnotherBeginsWithIt() throws {
        let (claimer, recorder) = (idleSession("claimer"), idleSession(Recorder.name))
        let control = Controller(alone: context)
        let thread = WorkerThread.start(name: "control") { control.run() }
        defer {
            control.stop()
            thread.join()
        }
        let entered = "SELECT count(*) >= $1 FROM fanfare.instances"
        try world.connection.waitUntil(entered.replacing("$1", with: "1"))
        let first = try #require(awaitOwner { $0 != nil })
        try world.connection.execute("UPDATE fanfare.schema_version SET version = 9, oldest_daemon = 9")
        #expect(awaitOwner { $0 == nil } == .some(nil), "no lease, and so nothing is claimed or sent")
        #expect(claimer.attempt(Self.ask) == nil, "sessions of before are of no use either")
        #expect(recorder.attempt(Self.ask) != nil, "what was answered is written down")
        try world.connection.execute("UPDATE fanfare.schema_version SET version = \(Self.version), oldest_daemon = 1")
        let second = try #require(awaitOwner { $0 != nil })
        #expect(second != first)
        #expect(claimer.attempt(Self.ask) != nil)
        claimer.close()
        recorder.close()
    }

    private static func ask(_ connection: PostgresConnection) throws(PostgresError) { try connection.execute("SELECT") }

    private func idleSession(_ stage: String) -> Session {
        let session = Session(context.database.promptQueue(stage), of: context, stop: StopSignal())
        #expect(session.attempt(Self.ask) != nil)
        return session
    }

    /// Returns the owner number once it satisfies a condition; nil after 20 s.
    private func awaitOwner(_ isSo: (Int32?) -> Bool) -> Int32?? {
        let patience = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < patience {
            let owner = context.lease.owner
            if isSo(owner) { return .some(owner) }
            Bell().wait(timeout: .milliseconds(5))
        }
        return nil
    }
}
