import TestKit
import Testing

@testable import FanfareCore
@testable import FanfareProviders
@testable import FanfareService
@testable import FanfareStore
@testable import FanfareTools

@Suite(.database) struct DeviceToolTests {
    private func register(_ token: String, user: String? = nil, app: String = "shop") throws -> Int64 {
        var registration = DeviceRegistration(app: app, platform: "apns", token: token)
        registration.userID = user
        registration.locale = "es-MX"
        registration.attributes = #"{"tier": "gold"}"#
        return try toolDatabase().register(registration)
    }

    @Test func aDeviceIsShownWithoutItsToken() throws {
        let id = try register("ABCDEF12", user: "ann")
        let database = try toolDatabase()
        #expect(try database.setSubscribed([id], to: "news", true) == 1)
        #expect(try database.setSubscribed([id], to: "news", true) == 0)
        let device = try database.device(id)
        #expect(device.userID == "ann" && device.topics == ["news"] && device.platform == "apns")
        #expect(device.json["attributes"]?["tier"] == "gold")
        #expect(!device.text.contains("abcdef12"))
        #expect(device.tokenHash.count == 8)
        #expect(try database.setSubscribed([id], to: "news", false) == 1)
        #expect(try database.device(id).topics == [])
    }

    @Test func filtersNarrowTheList() throws {
        let first = try register("aa01", user: "ann")
        let second = try register("aa02", user: "bob")
        let third = try register("aa03", user: "ann", app: "other")
        let database = try toolDatabase()
        #expect(try database.unregister(app: "shop", platform: "apns", token: "AA02"))
        #expect(try !database.unregister(app: "shop", platform: "apns", token: "aa02"))
        _ = try database.setSubscribed([first, third], to: "news", true)
        func ids(_ change: (inout DeviceFilter) -> Void) throws -> [Int64] {
            var filter = DeviceFilter()
            change(&filter)
            return try database.devices(filter).map(\.id)
        }
        #expect(try ids { _ in } == [third, second, first])
        #expect(try ids { $0.app = "shop" } == [second, first])
        #expect(try ids { $0.user = "ann" } == [third, first])
        #expect(try ids { $0.isDisabled = true } == [second])
        #expect(try ids { ($0.app, $0.topic) = ("shop", "news") } == [first])
        #expect(try ids { $0.limit = 1 } == [third])
        #expect(try ids { $0.platform = "fcm" } == [])
    }

    @Test func mistakesAreExplained() throws {
        let malformed = #expect(throws: ToolError.self) { try register("not hexadecimal") }
        #expect(malformed?.kind == .failed && malformed?.hint.contains("hexadecimal") == true)
        let missing = #expect(throws: ToolError.self) { try toolDatabase().device(99) }
        #expect(missing?.reason == "there is no device 99")
    }

    @Test func restoreUndoesPruningAndNothingElse() throws {
        let pruned = try register("bb01")
        let old = try register("bb02")
        let gone = try register("bb03")
        let weak = try register("bb04")
        func disable(_ id: Int64, _ reason: String, minutes: Int) throws {
            try sql(
                """
                UPDATE fanfare.devices SET disabled_reason = $2,
                    disabled_at = clock_timestamp() - $3::int * interval '1 minute' WHERE id = $1
                """,
                "\(id)",
                reason,
                "\(minutes)"
            )
        }
        try disable(pruned, "Unregistered", minutes: 30)
        try disable(old, "Unregistered", minutes: 300)
        try disable(weak, "BadDeviceToken", minutes: 1)
        _ = try toolDatabase().unregister(app: "shop", platform: "apns", token: "bb03")
        let database = try toolDatabase()
        let hour = RestoreRequest(app: "shop", since: Since("1h"), reason: nil, environment: nil)
        let counted = try database.restore(hour, isDryRun: true)
        #expect(counted.map(\.reason) == ["BadDeviceToken", "Unregistered"])
        #expect(try database.device(pruned).disabledReason == "Unregistered")

        let onlyWeak = RestoreRequest(
            app: "shop",
            since: Since("1h"),
            reason: "BadDeviceToken",
            environment: "production"
        )
        #expect(try database.restore(onlyWeak, isDryRun: false).map(\.devices) == [1])
        #expect(try database.restore(hour, isDryRun: false).map(\.reason) == ["Unregistered"])
        #expect(try database.device(pruned).disabledReason == nil)
        #expect(try database.device(weak).disabledReason == nil)
        #expect(try database.device(old).disabledReason == "Unregistered")
        #expect(try database.device(gone).disabledReason == "unregistered")
        let ever = RestoreRequest(app: "shop", since: Since("2020-01-01T00:00:00Z"), reason: nil, environment: nil)
        #expect(try database.restore(ever, isDryRun: false).map(\.devices) == [1])
    }

    @Test(arguments: [("Shop", "production"), ("shop", "prod")])
    func mistypedNamesAreNoSuccess(app: String, environment: String) throws {
        try World().device("aa")
        let request = RestoreRequest(app: app, since: Since("1h"), reason: nil, environment: environment)
        let restoring = #expect(throws: ToolError.self) { try toolDatabase().restore(request, isDryRun: true) }
        let resuming = #expect(throws: ToolError.self) {
            try toolDatabase().resumePruning(app: app, environment: environment)
        }
        #expect(restoring?.kind == .usage && resuming?.kind == .usage)
    }

    @Test func restoreRefusesWhatIsNoReasonAndWhatIsNoTime() throws {
        _ = try register("aa01")
        let request = RestoreRequest(app: "shop", since: Since("1h"), reason: "unregistered", environment: nil)
        let error = #expect(throws: ToolError.self) { try toolDatabase().restore(request, isDryRun: false) }
        #expect(error?.kind == .usage && error?.reason.contains("no reason") == true)
        let time = RestoreRequest(app: "shop", since: Since("yesterday-ish"), reason: nil, environment: nil)
        let noTime = #expect(throws: ToolError.self) { try toolDatabase().restore(time, isDryRun: true) }
        #expect(noTime?.kind == .usage && noTime?.hint.contains("2h") == true)
    }

    @Test func whatIsNoPlatformIsAMistakeAndNoAnswer() throws {
        let database = try toolDatabase()
        let known = Providers.names.map(\.rawValue).joined(separator: ", ")
        var filter = DeviceFilter()
        filter.platform = "apsn"
        let listing = #expect(throws: ToolError.self) { try database.devices(filter) }
        #expect(listing?.kind == .usage)
        #expect(listing?.hint == "Did you mean apns? Use one of \(known).")
        let leaving = #expect(throws: ToolError.self) {
            try database.unregister(app: "shop", platform: "telegraph", token: "aa")
        }
        #expect(leaving?.kind == .usage && leaving?.hint == "Use one of \(known).")
        let registration = DeviceRegistration(app: "shop", platform: "web_push", token: "https://x.example/1")
        let joining = #expect(throws: ToolError.self) { try database.register(registration) }
        #expect(joining?.kind == .usage && joining?.hint.contains("webpush") == true)
    }
}
