import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// `database.password_file`, whose content changes while a daemon runs.
@Suite struct PasswordFileTests {
    @Test func everyConnectReadsTheFileAnew() throws {
        let files = try OpenSSL()
        let path = try files.write("password", "one\n")
        let loaded = try configuration("database: { url: 'postgres:///app', password_file: '\(path)' }")
        let sessions = DatabaseSessions(base: try loaded.postgresOptions(environment: [:]))
        let options = [sessions.queue("recorder"), sessions.control("control"), sessions.badges()]
        for password in ["one", "two"] {
            try files.write("password", "\(password)\n")
            let read = try options.map { try $0.password?() }
            #expect(read == [password, password, password])
        }
        // An empty file fails the connection attempt, which can be retried.
        try files.write("password", "")
        let error = #expect(throws: PostgresError.self) { try options[0].password?() }
        #expect(error?.code == .connectionFailed && error?.isTransient == true)
        #expect(error?.message == "\(path): database.password_file: is empty")
        #expect(throws: DaemonError.self) { try loaded.postgresOptions(environment: [:]) }
    }
}
