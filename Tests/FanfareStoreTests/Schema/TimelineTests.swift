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

/// Event ids after the server switches to another timeline.
@Suite(.database)
struct TimelineTests {
    private static let skipped: Int64 = 10_000_000
    let world: World

    init() throws {
        world = try World()
    }

    private func next(_ sequence: String) throws -> Int64 {
        try world.connection.number("SELECT nextval('fanfare.\(sequence)_sequence')")
    }

    @Test func theTimelineOfTheInstallationIsKnown() throws {
        #expect(try world.connection.run(SQL.enterTimeline()) == [false])
        #expect(try world.connection.number("SELECT fanfare.timeline()") == 1)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.timelines") == 1)
        let before = try next("event")
        try world.connection.execute(Schema.sql)
        #expect(try next("event") == before + 1)
    }

    @Test(arguments: ["timeline = 7", "system_identifier = 7"])
    func onAnUnknownOneIDsSkipAheadOnce(change: String) throws {
        let before = (try next("event"), try next("batch"), try next("scheduled"))
        try world.connection.execute("UPDATE fanfare.timelines SET \(change)")
        let database = TestDatabase.current
        let answers = Mailbox<Bool>()
        let threads = (0..<4).map { _ in
            WorkerThread.start(name: "daemon") {
                if let answer = try? database.connect().run(SQL.enterTimeline()).first { answers.put(answer) }
            }
        }
        for thread in threads { thread.join() }
        #expect(answers.take()?.filter { $0 }.count == 1)
        #expect(((before.0 + Self.skipped)...(before.0 + Self.skipped + 9)).contains(try next("event")))
        #expect(((before.1 + Self.skipped)...(before.1 + Self.skipped + 9)).contains(try next("batch")))
        #expect(((before.2 + Self.skipped)...(before.2 + Self.skipped + 9)).contains(try next("scheduled")))
    }

    @Test func theySkipOverTheEndOfTheirSequence() throws {
        try world.connection.execute(
            "SELECT setval('fanfare.event_sequence', 4294967295); UPDATE fanfare.timelines SET timeline = 7"
        )
        #expect(try world.connection.run(SQL.enterTimeline()) == [true])
        #expect(try next("event") == Self.skipped + 1)
    }
}
