import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareCore
@testable import FanfareProviders
@testable import FanfareRecords
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareTools
@testable import fanfare

@Suite(.database) struct DeviceToolTests {
    private func register(_ token: String, user: String? = nil, app: String = "shop") async throws -> Int64 {
        var registration = DeviceRegistration(app: app, provider: "apns", token: token)
        registration.userID = user
        registration.locale = "es-MX"
        registration.attributes = try ToolJSON.object(#"{"tier": "gold"}"#, as: .attributes)
        return try await toolDatabase().register(registration)
    }

    @Test func aDeviceIsShownWithoutItsToken() async throws {
        let id = try await register("ABCDEF12", user: "ann")
        let database = try toolDatabase()
        #expect(try await database.setSubscribed([id], to: "news", true) == 1)
        #expect(try await database.setSubscribed([id], to: "news", true) == 0)
        let device = try await database.device(id)
        #expect(device.userID == "ann" && device.topics == ["news"] && device.provider == "apns")
        #expect(device.json["attributes"]?["tier"] == "gold")
        #expect(!device.text.contains("abcdef12"))
        #expect(device.tokenHash.count == 8)
        #expect(try await database.setSubscribed([id], to: "news", false) == 1)
        #expect(try await database.device(id).topics == [])
    }

    @Test func aDeviceIsShownWithItsPermission() async throws {
        let database = try toolDatabase()
        var registration = DeviceRegistration(app: "shop", provider: "apns", token: "ab12")
        let id = try await database.register(registration)
        let before = try await database.device(id)
        #expect(before.json["permission"] == .null && before.json["presents"] == .null)
        (registration.permission, registration.presents) = ("denied", ["sound", "alert", "sound"])
        #expect(try await database.register(registration) == id)
        let device = try await database.device(id)
        #expect(device.json["permission"] == "denied" && device.json["presents"] == ["alert", "sound"])
        #expect(device.text.contains("permission       denied") && device.text.contains("alert"))
        let devices = try await database.devices(DeviceFilter())
        #expect(RegisteredDevice.table(devices).contains("denied"))
        registration.permission = "maybe"
        let bad = registration
        let error = await #expect(throws: ToolError.self) { try await database.register(bad) }
        #expect(error?.description.contains("unknown permission 'maybe'") == true, "\(String(describing: error))")
    }

    @Test func filtersNarrowTheList() async throws {
        let first = try await register("aa01", user: "ann")
        let second = try await register("aa02", user: "bob")
        let third = try await register("aa03", user: "ann", app: "other")
        let database = try toolDatabase()
        #expect(try await database.unregister(app: "shop", provider: "apns", token: "AA02"))
        #expect(try await !database.unregister(app: "shop", provider: "apns", token: "aa02"))
        _ = try await database.setSubscribed([first, third], to: "news", true)
        func ids(_ change: (inout DeviceFilter) -> Void) async throws -> [Int64] {
            var filter = DeviceFilter()
            change(&filter)
            return try await database.devices(filter).map(\.id)
        }
        #expect(try await ids { _ in } == [third, second, first])
        #expect(try await ids { $0.app = "shop" } == [second, first])
        #expect(try await ids { $0.user = "ann" } == [third, first])
        #expect(try await ids { $0.isDisabled = true } == [second])
        #expect(try await ids { ($0.app, $0.topic) = ("shop", "news") } == [first])
        #expect(try await ids { $0.limit = 1 } == [third])
        #expect(try await ids { $0.provider = "fcm" } == [])
    }

    @Test func mistakesAreExplained() async throws {
        let malformed = await #expect(throws: ToolError.self) { try await register("not hexadecimal") }
        #expect(malformed?.kind == .failed && malformed?.hint.contains("hexadecimal") == true)
        let missing = await #expect(throws: ToolError.self) { try await toolDatabase().device(99) }
        #expect(missing?.reason == "there is no device 99")
        #expect(missing?.hint.isEmpty == true && missing?.typed.hint == "`fanfare devices list` shows their ids.")
        let words = ["devices", "register", "aa01", "--app", "shop", "--provider", "apns", "--attributes", "[1]"]
        let list = try await fanfare(words)
        #expect(list.status == 64)
        #expect(list.errors.first == "fanfare: --attributes is an array, not an object")
        let wrong = #expect(throws: ToolError.self) { try ToolJSON.object("[1]", as: .attributes) }
        #expect(wrong?.reason == "attributes is an array, not an object")
    }

    @Test func restoreUndoesPruningAndNothingElse() async throws {
        let pruned = try await register("bb01")
        let old = try await register("bb02")
        let gone = try await register("bb03")
        let weak = try await register("bb04")
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
        _ = try await toolDatabase().unregister(app: "shop", provider: "apns", token: "bb03")
        let database = try toolDatabase()
        let hour = RestoreRequest(app: "shop", since: Since("1h"), reason: nil, environment: nil)
        let counted = try await database.restore(hour, isDryRun: true)
        #expect(counted.map(\.reason) == ["BadDeviceToken", "Unregistered"])
        #expect(try await database.device(pruned).disabledReason == "Unregistered")

        let onlyWeak = RestoreRequest(
            app: "shop",
            since: Since("1h"),
            reason: "BadDeviceToken",
            environment: "production"
        )
        #expect(try await database.restore(onlyWeak, isDryRun: false).map(\.devices) == [1])
        #expect(try await database.restore(hour, isDryRun: false).map(\.reason) == ["Unregistered"])
        #expect(try await database.device(pruned).disabledReason == nil)
        #expect(try await database.device(weak).disabledReason == nil)
        #expect(try await database.device(old).disabledReason == "Unregistered")
        #expect(try await database.device(gone).disabledReason == "unregistered")
        let ever = RestoreRequest(app: "shop", since: Since("2020-01-01T00:00:00Z"), reason: nil, environment: nil)
        #expect(try await database.restore(ever, isDryRun: false).map(\.devices) == [1])
    }

    @Test func restoreWalksThroughAllDevicesOnceInBoundedSteps() async throws {
        _ = try await register("aa00")
        try sql(
            """
            INSERT INTO fanfare.devices (app_id, target_id, provider, token, token_hash, disabled_at, disabled_reason)
            SELECT d.app_id, d.target_id, d.provider, 't' || n, int8send(n), clock_timestamp() - interval '30 minutes',
                CASE WHEN n % 2 = 0 THEN 'BadDeviceToken' ELSE 'Unregistered' END
            FROM fanfare.devices AS d, generate_series(1, 25000) AS n
            """
        )
        let database = try toolDatabase()
        let hour = RestoreRequest(app: "shop", since: Since("1h"), reason: nil, environment: nil)
        for isDryRun in [true, false] {
            let counts = try await database.restore(hour, isDryRun: isDryRun)
            #expect(counts.map(\.reason) == ["BadDeviceToken", "Unregistered"])
            #expect(counts.map(\.devices) == [12_500, 12_500])
        }
        #expect(try await database.restore(hour, isDryRun: false).isEmpty)

        // With any number of devices, each query uses ids.
        let connection = try World().connection
        try connection.execute("ANALYZE fanfare.devices")
        let pruned = PrunedDevices(hour, since: Timestamp(microseconds: 0))
        _ = try connection.run(SQL.findPruned(pruned, 0, true))
        _ = try connection.run(SQL.restoreDevices(pruned, []))
        for call in [
            "find_pruned ('shop', 'now', NULL, NULL, NULL, 7, true)",
            "restore_devices ('shop', 'now', NULL, NULL, NULL, '{7}')",
        ] {
            let plan = try connection.column("EXPLAIN EXECUTE \(call)").joined(separator: "\n")
            #expect(plan.contains("devices_pkey") && !plan.contains("Seq Scan on devices"), "\(plan)")
        }
    }

    @Test func restoreLeavesWhatWasDisabledAfterItsEnd() async throws {
        let (before, after) = (try await register("bb01"), try await register("bb02"))
        for (id, minutes) in [(before, 30), (after, 10)] {
            try sql(
                """
                UPDATE fanfare.devices SET disabled_reason = 'Unregistered',
                    disabled_at = '2026-11-26T12:00Z'::timestamptz - $2::int * interval '1 minute' WHERE id = $1
                """,
                "\(id)",
                "\(minutes)"
            )
        }
        let database = try toolDatabase()
        let request = RestoreRequest(
            app: "shop",
            since: Since("2026-11-26T11:00:00Z"),
            until: "2026-11-26T11:50:00Z",
            reason: nil,
            environment: nil
        )
        #expect(try await database.restore(request, isDryRun: true).map(\.devices) == [1])
        #expect(try await database.restore(request, isDryRun: false).map(\.devices) == [1])
        #expect(try await database.device(before).disabledReason == nil)
        #expect(try await database.device(after).disabledReason == "Unregistered", "disabled just then")
    }

    @Test(arguments: [("Shop", "production"), ("shop", "prod")])
    func mistypedNamesAreNoSuccess(app: String, environment: String) async throws {
        try World().device("aa")
        let request = RestoreRequest(app: app, since: Since("1h"), reason: nil, environment: environment)
        let restoring = await #expect(throws: ToolError.self) {
            try await toolDatabase().restore(request, isDryRun: true)
        }
        let resuming = await #expect(throws: ToolError.self) {
            try await toolDatabase().resumePruning(app: app, environment: environment)
        }
        #expect(restoring?.kind == .usage && resuming?.kind == .usage)
    }

    @Test func restoreRefusesWhatIsNoReasonAndWhatIsNoTime() async throws {
        _ = try await register("aa01")
        let request = RestoreRequest(app: "shop", since: Since("1h"), reason: "unregistered", environment: nil)
        let error = await #expect(throws: ToolError.self) { try await toolDatabase().restore(request, isDryRun: false) }
        #expect(error?.kind == .usage && error?.reason.contains("no reason") == true)
        let time = RestoreRequest(app: "shop", since: Since("yesterday-ish"), reason: nil, environment: nil)
        let noTime = await #expect(throws: ToolError.self) { try await toolDatabase().restore(time, isDryRun: true) }
        #expect(noTime?.kind == .usage && noTime?.hint.contains("2h") == true)
    }

    @Test func whatIsNoProviderIsAMistakeAndNoAnswer() async throws {
        let database = try toolDatabase()
        let known = Providers.names.map(\.rawValue).joined(separator: ", ")
        var filter = DeviceFilter()
        filter.provider = "apsn"
        let listing = await #expect(throws: ToolError.self) { try await database.devices(filter) }
        #expect(listing?.kind == .usage)
        #expect(listing?.hint == "Did you mean apns? Use one of \(known).")
        let leaving = await #expect(throws: ToolError.self) {
            try await database.unregister(app: "shop", provider: "telegraph", token: "aa")
        }
        #expect(leaving?.kind == .usage && leaving?.hint == "Use one of \(known).")
        let registration = DeviceRegistration(app: "shop", provider: "web_push", token: "https://x.example/1")
        let joining = await #expect(throws: ToolError.self) { try await database.register(registration) }
        #expect(joining?.kind == .usage && joining?.hint.contains("webpush") == true)
    }
}
