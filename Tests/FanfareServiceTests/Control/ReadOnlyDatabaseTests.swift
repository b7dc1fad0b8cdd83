import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// A read-only server, for example an old primary that came back as a standby.
@Suite(.database)
struct ReadOnlyDatabaseTests {
    @Test func aSessionThatMayNotWriteBeginsAnew() throws {
        let session = try session()
        defer { session.close() }
        // The setting is changed in the session, because the session overrides defaults of the database or the role.
        #expect(run("SET default_transaction_read_only = on", in: session) == true)
        #expect(emit(in: session) == nil && session.generation == 1)
        #expect(emit(in: session) == true && session.generation == 2)
    }

    @Test func anotherErrorKeepsTheSession() throws {
        let session = try session()
        defer { session.close() }
        #expect(run("SELECT 1 / 0", in: session) == nil)
        #expect(emit(in: session) == true && session.generation == 1)
    }

    @Test func commandsSayWhereToConnect() {
        let refusal = PostgresError(.server, sqlState: "25006", message: "cannot execute INSERT")
        let error = DaemonError(databaseError: refusal)
        #expect(error.kind == .configuration && error.hint == "Connect to its primary.")
    }

    private func session() throws -> Session {
        let context = try World().context
        return Session(context.database.promptQueue("writer"), of: context, stop: StopSignal())
    }

    private func run(_ sql: String, in session: Session) -> Bool? {
        session.attempt { connection throws(PostgresError) in
            try connection.execute(sql)
            return true
        }
    }

    private func emit(in session: Session) -> Bool? { run("SELECT fanfare.emit('e')", in: session) }
}
