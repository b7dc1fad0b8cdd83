import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareCore
@testable import FanfareRecords
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareTools
@testable import fanfare

@Suite(.database) struct PreferenceToolTests {
    @Test func whatAUserSaidIsSetAndShown() async throws {
        let database = try toolDatabase()
        try await database.setPreference("marketing", of: "ann", app: "shop", isOptedOut: true)
        try await database.snooze("*", of: "ann", app: "shop", until: "2099-12-01T09:00:00Z")
        try await database.snooze("news", of: "ann", app: "shop", until: "8h")
        try await database.snooze("news", of: "ann", app: "shop", until: nil)
        let said = try await database.preferences(of: "ann", app: "shop")
        #expect(
            UserPreference.table(said) == """
                CATEGORY   OPTED OUT  SNOOZED UNTIL
                *          no         2099-12-01T09:00:00.000000Z
                marketing  yes        -
                news       no         -
                """
        )
        #expect(said[1].json == ["category": "marketing", "opted_out": true, "snoozed_until": nil])
        #expect(try await database.preferences(of: "bob", app: "shop").isEmpty)
        await #expect(throws: ToolError.self) {
            try await database.snooze("*", of: "ann", app: "shop", until: "tomorrow-ish")
        }
        await #expect(throws: ToolError.self) {
            try await database.setPreference("a b", of: "ann", app: "shop", isOptedOut: true)
        }
    }
}
