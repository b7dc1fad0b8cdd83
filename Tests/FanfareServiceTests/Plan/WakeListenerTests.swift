import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// The detection of missing notifications, and the fallback to polling.
@Suite(.database)
struct WakeListenerTests {
    @Test func itKnowsWhetherNotificationsCome() throws {
        let log = CapturedLog()
        let world = try World(logger: log.logger)
        let session = try TestDatabase.current.connect()
        var listener = try WakeListener(context: world.context, on: session, patience: .zero)
        #expect(world.context.status.isListening)
        // As behind a connection pool, whose next client receives the notifications.
        try session.execute("UNLISTEN *")
        for _ in 0..<2 {
            #expect(try !listener.prove(on: session))
            #expect(!world.context.status.isListening)
        }
        try session.listen(to: "fanfare_probe_\(session.backendPID)")
        #expect(try !listener.prove(on: session))
        #expect(world.context.status.isListening)
        let lines = log.end()
        #expect(lines.count == 1, "once, not with every proof")
        #expect(lines.first?.contains("events are found by polling") ?? false)
    }

    @Test func whatComesWithItsOwnNotificationIsHeard() throws {
        let world = try World()
        let session = try TestDatabase.current.connect()
        var listener = try WakeListener(context: world.context, on: session, patience: .zero)
        #expect(try !listener.prove(on: session))
        try world.connection.execute("NOTIFY fanfare_wake")
        #expect(try listener.prove(on: session))
        try world.connection.execute("NOTIFY fanfare_wake")
        #expect(try listener.sleep(atMost: .seconds(30), orUntil: world.bells.plan, on: session))
    }

    @Test func aDatabaseThatRefusesToNotifyIsNoReasonToStop() throws {
        let world = try World()
        let session = try TestDatabase.current.connect()
        var listener = try WakeListener(context: world.context, on: session, patience: .zero)
        // Any error of the server; the real one is a full notification queue, which takes 8 GB.
        try session.execute("BEGIN READ ONLY; SELECT 1")
        try? session.execute("SELECT 1 / 0")
        #expect(try !listener.prove(on: session))
        #expect(!world.context.status.isListening)
        try session.execute("ROLLBACK")
    }
}
