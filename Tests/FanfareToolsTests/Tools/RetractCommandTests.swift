import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// `fanfare retract`.
@Suite(.database) struct RetractCommandTests {
    @Test func anEventIsTakenBackOrSaidToBeMissing() async throws {
        let environment = ["DATABASE_URL": TestDatabase.current.url]
        let id = try #require(try sql("SELECT fanfare.emit('e', '{}', 'k')::text")[0])
        let done = try await fanfare("retract", id, "--user", "ann", environment: environment)
        #expect(done.status == 0 && done.output == ["taken back"], "\(done)")
        let byKey = try await fanfare("retract", "--type", "e", "--key", "k", environment: environment)
        #expect(byKey.status == 0, "\(byKey)")
        #expect(try sql("SELECT user_id FROM fanfare.retractions ORDER BY id") == ["ann", nil])
        let absent = try await fanfare("retract", "987654321", environment: environment)
        #expect(absent.status == 1 && absent.errors.first == "fanfare: there is no event 987654321", "\(absent)")
        #expect(absent.errors.last?.hasPrefix("  fix: ") == true)
        let nobody = try await fanfare("retract", id, "--user", "undefined", environment: environment)
        #expect(nobody.status == 1 && nobody.errors.first?.contains("cannot be 'undefined'") == true, "\(nobody)")
    }

    @Test(arguments: [[], ["5", "--key", "k"], ["--type", "e"], ["five"]])
    func aWrongCommandLineIsRefused(arguments: [String]) async throws {
        let result = try await fanfare(["retract"] + arguments)
        #expect(result.status == 64 && !result.errors.isEmpty, "\(result)")
    }
}
