import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// FCM devices that change from registration tokens to Firebase installation ids, and back.
@Suite(.database)
struct InstallationTests {
    let connection: PostgresConnection

    init() throws {
        connection = try TestDatabase.current.connect()
    }

    private func register(_ token: String, _ user: String? = nil, _ more: String = "") throws -> Int64 {
        let user = user.map { "'\($0)'" } ?? "NULL"
        let rest = more.isEmpty ? "" : ", " + more
        return try connection.number("SELECT fanfare.register_device('shop', 'fcm', '\(token)', \(user)\(rest))")
    }

    private func registerFID(_ id: String, _ user: String? = nil, _ more: String = "") throws -> Int64 {
        try register(id, user, "address => 'fid'" + (more.isEmpty ? "" : ", " + more))
    }

    /// Returns token, address, user and the reason why it is disabled.
    private func row(_ id: Int64) throws -> [String?] {
        try connection.query(
            """
            SELECT token, address, user_id, disabled_reason FROM fanfare.devices
            WHERE id = $1 AND token_hash = sha256(token::bytea)
            """,
            String(id)
        ).rows[0]
    }

    @Test func aFIDTakesTheDeviceOfItsToken() throws {
        let id = try register("X:one", "ann", #"attributes => '{"tier": "gold"}', locale => 'es'"#)
        _ = try connection.query("SELECT fanfare.subscribe($1::bigint, 'news')", String(id))
        // More often than a plan is cached for.
        for round in 1...6 {
            #expect(try registerFID("X", "ann") == id)
            // The SDK reports an id that has not changed again and again.
            #expect(try registerFID("X", "ann") == id)
            #expect(try row(id) == ["X", "fid", "ann", nil])
            #expect(try register("X:\(round)", "ann") == id)
            #expect(try row(id) == ["X:\(round)", nil, "ann", nil])
        }
        let kept = "SELECT attributes ->> 'tier' || locale FROM fanfare.devices"
        #expect(try connection.column(kept) == ["goldes"])
        #expect(try connection.number("SELECT count(*) FROM fanfare.subscriptions") == 1)
    }

    @Test func theAddressStaysAsItWasSaid() throws {
        let id = try registerFID("X")
        #expect(try register("X") == id)
        #expect(try row(id)[1] == "fid")
        #expect(try register("X", nil, "address => 'token'") == id)
        #expect(try row(id)[1] == nil)
        #expect(try registerFID("X") == id)
        #expect(try row(id)[1] == "fid")
    }

    /// FCM refuses a token from the moment when the app registers its FID: a push in between disables the device.
    @Test func aPrunedTokenIsTakenToo() throws {
        let id = try register("X:one", "ann")
        try connection.execute(
            "UPDATE fanfare.devices SET disabled_at = clock_timestamp(), disabled_reason = 'UNREGISTERED'"
        )
        #expect(try registerFID("X", "ann") == id)
        #expect(try row(id) == ["X", "fid", "ann", nil])
    }

    @Test func ofSeveralTokensTheEnabledNewestOneIsTaken() throws {
        let old = try register("X:old", "ann")
        let newest = try register("X:newest", "ann")
        let dead = try register("X:dead", "ann")
        try connection.execute(
            "UPDATE fanfare.devices SET disabled_at = clock_timestamp(), disabled_reason = 'UNREGISTERED' WHERE id = \(dead)"
        )
        #expect(try registerFID("X", "ann") == newest)
        #expect(try row(old)[0] == "X:old")
        #expect(try row(dead)[0] == "X:dead")
    }

    @Test func aPrefixAloneIsNoInstallation() throws {
        let id = try register("XY:one")
        #expect(try registerFID("X") != id)
        #expect(try registerFID("XY:one") == id, "a token that an SDK calls a FID")
        #expect(try row(id)[1] == nil)
        // The index holds 64 characters.
        let long = String(repeating: "x", count: 64)
        let first = try register("\(long)a:1")
        let second = try register("\(long)b:1")
        #expect(try registerFID("\(long)b") == second)
        #expect(try registerFID("\(long)a") == first)
        #expect(try registerFID(long) > second)
        // The other providers and apps have devices of their own.
        #expect(
            try connection.number("SELECT fanfare.register_device('other', 'fcm', 'XY', address => 'fid')") > second
        )
    }

    @Test func replacesNamesEitherAddress() throws {
        let id = try register("one", "ann")
        #expect(try registerFID("X", "ann", "replaces => 'one'") == id)
        #expect(try registerFID("Y", "ann", "replaces => 'X'") == id)
        #expect(try row(id) == ["Y", "fid", "ann", nil])
        #expect(try register("two", "ann", "replaces => 'Y', address => 'token'") == id)
        #expect(try row(id) == ["two", nil, "ann", nil])
    }

    @Test func anotherUserInheritsNothing() throws {
        let first = try register("X:one", "ann")
        _ = try connection.query("SELECT fanfare.subscribe($1::bigint, 'news')", String(first))
        let second = try registerFID("X", "bob")
        #expect(second != first)
        // FCM refuses the token now, and the next push to it disables the device.
        #expect(try row(first) == ["X:one", nil, "ann", nil])
        #expect(try row(second) == ["X", "fid", "bob", nil])
        #expect(try connection.number("SELECT device_id FROM fanfare.subscriptions") == first)
        #expect(try register("X:two", "ann") > second)
        #expect(try register("X:three", "bob") == second)
        // A device without a user is taken, and a registration without one keeps the user.
        let third = try register("Z:one")
        #expect(try registerFID("Z", "ann") == third)
        #expect(try register("Z:two") == third)
        #expect(try row(third)[2] == "ann")
    }

    @Test func whatCannotBeAFIDIsRefused() throws {
        for (call, words) in [
            ("'fcm', 'a.b', address => 'fid'", "characters"), ("'fcm', 'a=', address => 'fid'", "characters"),
            ("'fcm', 'a', address => 'FID'", "unknown kind of address 'FID'"),
            ("'fcm', 'a', address => ''", "unknown kind of address"),
            ("'apns', 'ab', address => 'fid'", "APNs has no FIDs"),
            ("'webpush', 'https://x.example/1', address => 'fid'", "Web Push"),
            ("'fcm', ' a', address => 'fid'", "blanks"),
        ] {
            let error = try #require(connection.refusal("SELECT fanfare.register_device('shop', \(call))"), "\(call)")
            #expect(error.sqlState == "22023" && error.message.contains(words) && error.hint != nil, "\(error.message)")
        }
        // Lengths are no rule, neither of Google's nor here.
        for id in ["a", String(repeating: "b", count: 22), String(repeating: "c", count: 4096)] {
            #expect(try registerFID(id) > 0)
        }
        #expect(try connection.number("SELECT fanfare.register_device('shop', 'apns', 'ab', address => 'token')") > 0)
    }

    @Test func importsKnowBoth() throws {
        let id = try register("X:one", "ann")
        let old = try registerFID("Y", "bob")
        func outcomes(_ rows: String) throws -> [String?] {
            try connection.query(
                "SELECT concat_ws(' ', outcome, field) FROM fanfare.import_devices('shop', $1::jsonb) ORDER BY number",
                rows
            ).rows.map { $0[0] }
        }
        let now = try connection.text("SELECT to_json(clock_timestamp())") ?? ""
        let rows = """
            [{"provider": "fcm", "token": "X", "address": "fid", "registered_at": \(now)},
             {"provider": "fcm", "token": "Y:two"},
             {"provider": "fcm", "token": "Z:1", "address": "fid"}, {"provider": "fcm", "token": "W", "address": "fid"},
             {"provider": "fcm", "token": "a.b", "address": "fid"}, {"provider": "apns", "token": "ab", "address": "fid"},
             {"provider": "fcm", "token": "V", "address": "fax"}]
            """
        #expect(
            try outcomes(rows) == [
                "updated", "older", "new address", "new", "refused address", "refused address", "refused address",
            ]
        )
        #expect(try row(id) == ["X", "fid", "ann", nil])
        #expect(try row(old)[0] == "Y")
        #expect(
            try connection.column("SELECT token FROM fanfare.devices WHERE address = 'fid' ORDER BY 1") == [
                "W", "X", "Y",
            ]
        )
        #expect(try outcomes(rows)[0] == "unchanged")
        #expect(try outcomes(#"[{"provider": "fcm", "token": "W:9"}]"#) == ["updated"])
        #expect(try connection.number("SELECT count(*) FROM fanfare.devices WHERE token LIKE 'W%'") == 1)
    }

    /// The same app registers over several connections at once, as after an update.
    @Test func registrationsAtTheSameTimeAgree() async throws {
        let database = TestDatabase.current
        let id = try register("X:one", "ann")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    try await onThread("phone") {
                        let connection = try database.connect()
                        for _ in 0..<25 {
                            let call = "SELECT fanfare.register_device('shop', 'fcm', 'X', 'ann', address => 'fid')"
                            #expect(try connection.number(call) == id)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try connection.number("SELECT count(*) FROM fanfare.devices") == 1)
    }

    /// Another transaction takes the device or the address first, and is waited for.
    @Test(
        arguments: [
            // A newer registration than that of an imported row.
            (
                "SELECT fanfare.register_device('shop', 'fcm', 'X', 'ann', address => 'fid')",
                #"SELECT outcome FROM fanfare.import_devices('shop', '[{"provider": "fcm", "token": "X:2", "registered_at": "2020-01-01"}]')"#,
                "X fid ann"
            ),
            // The FID for another user, while a token waits for it.
            (
                "SELECT fanfare.register_device('shop', 'fcm', 'Y', 'bob', address => 'fid')",
                "SELECT fanfare.register_device('shop', 'fcm', 'Y', 'ann', address => 'fid')",
                "X fid ann,Y fid ann,Y fid bob reassigned,Y:1 ann"
            ),
            // The device without a user for another user.
            (
                "SELECT fanfare.register_device('shop', 'fcm', 'Z:1', 'bob')",
                "SELECT fanfare.register_device('shop', 'fcm', 'Z', 'ann', address => 'fid')",
                "X fid ann,Z fid ann,Z:1 bob"
            ),
        ]
    )
    func whoComesSecondLooksAgain(first: String, second: String, rows: String) async throws {
        _ = try registerFID("X", "ann")
        if rows.contains("Y") { _ = try register("Y:1", "ann") }
        if rows.contains("Z") { _ = try register("Z:1") }
        let database = TestDatabase.current
        try connection.execute("BEGIN; \(first)")
        let waiting = Task { try await onThread("second") { try database.connect().execute(second) } }
        try await onThread("wait") {
            try database.connect().waitUntil(
                "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')",
                seconds: 60
            )
        }
        try connection.execute("COMMIT")
        try await waiting.value
        let found = try connection.column(
            "SELECT concat_ws(' ', token, address, user_id, disabled_reason) FROM fanfare.devices ORDER BY 1"
        )
        #expect(found == rows.split(separator: ",").map(String.init))
    }

    @Test func aRotatedFIDStaysOne() throws {
        let id = try registerFID("X", "ann")
        #expect(try register("Y", "ann", "replaces => 'X'") == id)
        #expect(try row(id) == ["Y", "fid", "ann", nil])
        #expect(try register("Y:1", "ann", "replaces => 'Y'") == id)
        #expect(try row(id)[1] == nil)
    }

    /// Registering needs no walk over all devices, whatever their number, with plans made for an empty table.
    @Test func theTokenOfAnInstallationIsFoundByAnIndex() throws {
        try connection.execute(
            "SELECT count(fanfare.register_device('shop', 'fcm', 'I' || n || ':t', 'u' || n)) FROM generate_series(1, 2000) AS n"
        )
        // In one session, whose plans are cached from the first devices on.
        for address in ["'I' || n, 'u' || n, address => 'fid'", "'I' || n || ':u', 'u' || n"] {
            try connection.execute(
                "BEGIN; SELECT count(fanfare.register_device('shop', 'fcm', \(address))) FROM generate_series(1, 2000) AS n"
            )
            let reads = try connection.number(
                "SELECT idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relid = 'fanfare.devices'::regclass"
            )
            try connection.execute("COMMIT")
            #expect(reads < 40_000, "\(reads) rows were fetched for 2,000 registrations")
        }
        let plan = try connection.column(
            """
            EXPLAIN SELECT d.id FROM fanfare.devices AS d
            WHERE d.app_id + 0 = 1 AND d.provider = 'fcm' AND d.address IS NULL AND strpos(d.token, ':') > 0
                AND d.disabled_reason IS DISTINCT FROM 'reassigned' AND left(split_part(d.token, ':', 1), 64) = 'I7'
            """
        )
        #expect(plan.contains { $0.contains("devices_installation") }, "\(plan)")
    }
}
