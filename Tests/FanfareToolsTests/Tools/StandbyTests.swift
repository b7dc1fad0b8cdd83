import FanfareProviders
import PrivateCluster
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareTools

/// Commands that are connected to a standby.
@Suite(.databaseOnOwnServer, .timeLimit(.minutes(5))) struct StandbyTests {
    @Test func whatHasToWriteSaysWhereToConnect() async throws {
        try sql("SELECT fanfare.adopt('production')")
        let database = TestDatabase.current
        let standby = try await onThread("standby") { try database.cluster.startStandby() }
        defer { standby.stop(.immediate) }
        let configuration = try toolConfiguration(
            "installation: production",
            url: standby.connectionURL(database: database.name)
        )
        let setup = try DatabaseSetup(configuration, environment: [:])
        for error in [
            #expect(throws: ToolError.self) { try setup.migrate() },
            #expect(throws: ToolError.self) { try setup.adopt() },
        ] {
            #expect(error?.exitCode == 78 && error?.hint == "Connect to its primary.")
            #expect(error?.reason == "this database takes no writes, as a standby does")
        }
        let items = await Checkup(configuration, environment: [:]).items(online: false)
        #expect(items.first { $0.name == "database" }?.advice == "Connect to its primary.")
    }
}
