import FanfareCore
import FanfareRecords
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// `fanfare.put_policy`.
@Suite(.database)
struct PolicyFunctionTests {
    private static let rates = """
        SELECT string_agg(concat_ws(' ', a.name, r.provider, r.per_second), ', ' ORDER BY a.name, r.provider NULLS FIRST)
        FROM fanfare.rates AS r JOIN fanfare.apps AS a ON a.id = r.app_id
        """

    @Test func aPolicyTakesThePlaceOfTheOneBefore() throws {
        let world = try World()
        try world.put(
            policy: #"{"rate": "100/s", "time_zone": "Europe/Madrid", "providers": {"fcm": {"rate": "50/s"}}}"#
        )
        try world.put(policy: #"{"rate": "7/s"}"#, app: "other")
        #expect(try world.connection.text(Self.rates) == "other 7, shop 100, shop fcm 50")
        let zones = "SELECT coalesce(time_zone, '-') FROM fanfare.policies ORDER BY app_id"
        #expect(try world.connection.column(zones) == ["Europe/Madrid", "-"])
        let ids = try world.connection.column("SELECT id FROM fanfare.rates WHERE provider = 'fcm'")
        try world.connection.execute("UPDATE fanfare.rates SET next_free = clock_timestamp() + interval '100 s'")
        try world.put(policy: #"{"providers": {"fcm": {"rate": "100/s"}, "webhook": {"rate": "1/s"}}}"#)
        #expect(try world.connection.text(Self.rates) == "other 7, shop fcm 100, shop webhook 1")
        #expect(try world.connection.column("SELECT id FROM fanfare.rates WHERE provider = 'fcm'") == ids)
        let owed = """
            SELECT round(extract(epoch FROM next_free - clock_timestamp())) BETWEEN 40 AND 50 FROM fanfare.rates WHERE provider = 'fcm'
            """
        #expect(try world.connection.text(owed) == "t", "what it owes are deliveries")
        #expect(try world.connection.column(zones) == ["-", "-"])
        try world.put(policy: "{}")
        try world.put(policy: "{}", app: "other")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.rates") == 0)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.policies") == 0)
    }

    @Test(arguments: [
        ("7", "policy: is not an object", "write {\"rate\": \"1000/s\"}, or {} for none"),
        ("null", "policy: is not an object", "write {\"rate\": \"1000/s\"}, or {} for none"),
        (
            #"{"colour": 1}"#, "colour: unknown key",
            "known are time_zone, quiet_hours, caps, rate, providers, report, report_devices"
        ),
        (
            #"{"time_zone": 1}"#, "time_zone: is not a string",
            "use a name such as Europe/Madrid; without one, it is UTC"
        ),
        (
            #"{"time_zone": "UTC+3"}"#, "time_zone: 'UTC+3' is not a time zone that this server knows; write Etc/GMT-3",
            "use a name such as Europe/Madrid; without one, it is UTC"
        ),
        (
            #"{"quiet_hours": "off"}"#, "quiet_hours: is not an object",
            #"write {"from": "22:00", "until": "08:00", "mode": "hold"}"#
        ),
        (
            #"{"quiet_hours": {"from": "22:00", "until": "24:00"}}"#, "quiet_hours.until: is not a time of day",
            #"write what clocks show, from 00:00 to 23:59, as in "22:00""#
        ),
        (#"{"caps": []}"#, "caps: is not an object", #"write {"daily": {"max": 3, "per": "1d"}}"#),
        (
            #"{"caps": {"a b": {"max": 1, "per": "1d"}}}"#, "caps.a b: cannot be a name",
            #"use 1 to 64 letters, digits, "_", "." and "-", beginning with a letter or digit"#
        ),
        (#"{"caps": {"a": 3}}"#, "caps.a: is not an object", #"write {"daily": {"max": 3, "per": "1d"}}"#),
        (#"{"caps": {"a": {"max": 3, "per": "1d", "x": 1}}}"#, "caps.a.x: unknown key", "known are max, per"),
        (
            #"{"caps": {"a": {"per": "1d"}}}"#, "caps.a.max: is missing",
            "write how many a user gets at most, such as 3; a user who wants none opts out"
        ),
        (
            #"{"caps": {"a": {"max": 0, "per": "1d"}}}"#, "caps.a.max: is not a whole number from 1 to 100",
            "write how many a user gets at most, such as 3; a user who wants none opts out"
        ),
        (
            #"{"caps": {"a": {"max": 101, "per": "1d"}}}"#, "caps.a.max: is not a whole number from 1 to 100",
            "write how many a user gets at most, such as 3; a user who wants none opts out"
        ),
        (
            #"{"caps": {"a": {"max": 3, "per": "32d"}}}"#, "caps.a.per: is not a duration from 1m to 31d",
            "write a whole number with s, m, h or d, such as 1d"
        ),
        (
            #"{"caps": {"a": {"max": 3, "per": "59s"}}}"#, "caps.a.per: is not a duration from 1m to 31d",
            "write a whole number with s, m, h or d, such as 1d"
        ),
        (
            "{\"caps\": {\((1...17).map { #""c\#($0)": {"max": 1, "per": "1d"}"# }.joined(separator: ", "))}}",
            "caps: has 17", "give at most 16"
        ),
        (#"{"rate": 5}"#, "rate: is not a rate", "write how many pushes a second, as in 500/s"),
        (#"{"rate": "30/m"}"#, "rate: 30/m is 0.5/s", "at least 1/s; for less use a cap or smaller audiences"),
        (#"{"rate": {"per": "5/s"}}"#, "rate: is not a rate", "write how many pushes a second, as in 500/s"),
        (#"{"providers": "fcm"}"#, "providers: is not an object", #"write {"fcm": {"rate": "500/s"}}"#),
        (#"{"providers": {"gcm": {}}}"#, "providers.gcm: unknown key", "known are apns, fcm, webhook, webpush"),
        (#"{"providers": {"fcm": "5/s"}}"#, "providers.fcm: is not an object", #"write {"fcm": {"rate": "500/s"}}"#),
        (#"{"providers": {"fcm": {"speed": 1}}}"#, "providers.fcm.speed: unknown key", "known are rate"),
        (
            #"{"providers": {"fcm": {}}}"#, "providers.fcm.rate: is missing",
            "write how many pushes a second, as in 500/s"
        ),
        (
            #"{"providers": {"apns": {"rate": "1000001/s"}}}"#, "providers.apns.rate: 1000001/s is 1000001/s",
            "at most 1000000/s; without a rate it goes as fast as it can"
        ),
    ])
    func whatIsWrongIsRefusedWithItsPlace(policy: String, message: String, hint: String) throws {
        let world = try World()
        let error = #expect(throws: PostgresError.self) { try world.put(policy: policy) }
        #expect(error?.sqlState == "22023")
        #expect(error?.message == message)
        #expect(error?.hint == hint)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.apps") == 0)
    }

    @Test func anAppThatCannotBeAndALongPolicyAreRefused() throws {
        let world = try World()
        let app = #expect(throws: PostgresError.self) { try world.put(policy: #"{"rate": "5/s"}"#, app: "my shop") }
        #expect(app?.sqlState == "22023" && app?.message == "no app can be called 'my shop'")
        let long = #expect(throws: PostgresError.self) {
            try world.put(policy: #"{"time_zone": "\#(String(repeating: "x", count: 70_000))"}"#)
        }
        #expect(long?.hint == "A policy has at most 64 KiB.")
    }

    @Test func whoPutsRulesPutsPolicies() async throws {
        let world = try World()
        try world.connection.execute("SET ROLE fanfare_author")
        try world.put(policy: #"{"rate": "5/s"}"#)
        #expect(try world.connection.run(SQL.storedPolicies(nil)).map(\.app) == ["shop"])
        #expect(
            try world.connection.run(SQL.policyErrors(["[]", #"{"x": 1}"#])).map { $0?.path } == [
                "policy", "policy.x",
            ]
        )
        try world.connection.execute("SET ROLE fanfare_registrar")
        #expect(throws: PostgresError.self) { try world.put(policy: "{}") }
    }
}
