import Foundation
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareCore

/// `fanfare.import_devices` compared with `fanfare.register_device`.
@Suite(.database)
struct ImportFunctionTests {
    let connection: PostgresConnection

    init() throws {
        connection = try TestDatabase.current.connect()
    }

    private static let keys = #""p256dh": "\#(SampleSubscription.p256dh)", "auth": "\#(SampleSubscription.auth)""#

    /// Registers a row as an app would, and returns the error if it is rejected.
    private func register(_ row: String, app: String) throws -> String? {
        do throws(PostgresError) {
            _ = try connection.query(
                """
                SELECT fanfare.register_device($1, x.provider, x.token, x.user_id, coalesce(x.kind, 'device'),
                    coalesce(x.environment, 'production'), x.locale, x.time_zone, x.attributes, x.p256dh, x.auth)
                FROM jsonb_to_record($2::jsonb) AS x (provider text, token text, user_id text, kind text, environment text, locale text,
                    time_zone text, attributes jsonb, p256dh text, auth text)
                """,
                app,
                row
            )
            return nil
        } catch {
            return error.message
        }
    }

    private func importing(_ rows: [String], app: String) throws -> [[String?]] {
        try connection.query(
            "SELECT outcome, field, reason FROM fanfare.import_devices($1, $2::jsonb) ORDER BY number",
            app,
            "[\(rows.joined(separator: ","))]"
        ).rows
    }

    private func state(_ app: String) throws -> [[String?]] {
        try connection.query(
            """
            SELECT d.provider, d.token, encode(d.token_hash, 'hex'), t.environment, d.kind, d.user_id, d.locale, d.time_zone,
                d.attributes::text, d.p256dh, d.auth, d.disabled_reason
            FROM fanfare.devices AS d JOIN fanfare.targets AS t ON t.id = d.target_id JOIN fanfare.apps AS a ON a.id = d.app_id
            WHERE a.name = $1 ORDER BY d.id
            """,
            app
        ).rows
    }

    private static let large = #""attributes": {"a": "\#(String(repeating: "x", count: 16_384))"}"#

    /// Returns a random row with a registration time in the future, which counts as now.
    private func row(_ random: inout SeededGenerator) -> String {
        func one(_ choices: [String?]) -> String? { choices.randomElement(using: &random) ?? nil }
        let browser = Int.random(in: 0..<4, using: &random) == 0
        let members: [String?] = [
            #""provider": "\#(browser ? "webpush" : one(["apns", "fcm"]) ?? "fcm")""#,
            browser
                ? one([#""token": "https://x.example/1""#, #""token": "https://x.example/2""#])
                : one([
                    #""token": "aa01""#, #""token": "AA01""#, #""token": "bb""#, #""token": "x y""#,
                    #""token": "Blacklisted""#,
                ]),
            browser ? one([Self.keys, Self.keys, nil]) : one([nil, nil, nil, #""auth": "x""#]),
            one([#""user_id": "ann""#, #""user_id": "bob""#, nil, nil]),
            one([#""kind": "device""#, #""kind": "voip""#, #""kind": "tea""#]),
            one([#""environment": "production""#, #""environment": "sandbox""#]),
            one([#""locale": "es-MX""#, #""locale": "de""#, #""locale": "?""#, nil]),
            one([#""time_zone": "Europe/Madrid""#, #""time_zone": "Mars/Base""#, nil]),
            one([#""attributes": {"tier": "gold"}"#, #""attributes": [1]"#, Self.large, nil, nil]),
            #""registered_at": "2999-01-01T00:00:00Z""#,
        ]
        return "{\(members.compactMap(\.self).joined(separator: ", "))}"
    }

    @Test(arguments: 1...8)
    func rowsAreRegisteredAsAppsRegisterThem(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let rows = (0..<150).map { _ in row(&random) }
        let refusals = try rows.map { try register($0, app: "one") }
        var (outcomes, rest): ([[String?]], ArraySlice<String>) = ([], rows[...])
        while !rest.isEmpty {
            let count = Int.random(in: 1...40, using: &random)
            outcomes += try importing(Array(rest.prefix(count)), app: "two")
            rest = rest.dropFirst(count)
        }
        #expect(outcomes.map { $0[0] == "refused" ? $0[2] : nil } == refusals)
        #expect(try state("two") == state("one"))
        #expect(outcomes.contains { $0[0] == "refused" } && outcomes.contains { $0[0] == "updated" })
    }

    @Test func aRowOlderThanWhatIsHereChangesNothing() throws {
        #expect(
            try register(#"{"provider": "apns", "token": "aa", "user_id": "ann", "kind": "device"}"#, app: "shop")
                == nil
        )
        let before = try state("shop")
        let outcomes = try importing(
            [
                #"{"provider": "apns", "token": "AA", "user_id": "bob", "locale": "de"}"#,
                #"{"provider": "apns", "token": "aa", "user_id": "ann", "registered_at": "2020-01-01T00:00:00Z"}"#,
            ],
            app: "shop"
        )
        #expect(outcomes.map { $0[0] } == ["older", "older"])
        #expect(try state("shop") == before)
    }

    @Test func whatWasDisabledMeanwhileStaysSo() throws {
        let row = #"{"provider": "apns", "token": "aa", "registered_at": "2020-01-01T00:00:00Z"}"#
        #expect(try importing([row], app: "shop")[0][0] == "new")
        _ = try connection.query("SELECT fanfare.unregister_device('shop', 'apns', 'aa')")
        #expect(try importing([row], app: "shop")[0][0] == "ended")
        #expect(try state("shop")[0][11] == "unregistered")
        let later = row.replacing("2020", with: "2999")
        #expect(try importing([later], app: "shop")[0][0] == "updated")
        #expect(try state("shop")[0][11] == nil)
        let ended = row.replacing(
            "}",
            with: #", "disabled_reason": "Unregistered", "disabled_at": "2021-01-01T00:00:00Z"}"#
        )
        #expect(try importing([ended.replacing("aa", with: "bb")], app: "shop")[0][0] == "new")
        #expect(try importing([ended.replacing("2020", with: "2999")], app: "shop")[0][0] == "alive")
        #expect(try state("shop").map { $0[11] } == [nil, "Unregistered"])
    }

    @Test func aTokenThatIsDeadSinceItsRegistrationThereIsBelievedToBeDead() throws {
        #expect(try importing([#"{"provider": "apns", "token": "aa"}"#], app: "shop")[0][0] == "new")
        #expect(try connection.text("SELECT registered_at = 'epoch' FROM fanfare.devices") == "t")
    }

    @Test func topicsAreThoseOfWhoHasTheTokenInTheEnd() throws {
        let outcomes = try importing(
            [
                #"{"provider": "apns", "token": "aa", "user_id": "ann", "topics": ["news", "sport"]}"#,
                #"{"provider": "apns", "token": "bb", "topics": ["news", "news"]}"#,
                #"{"provider": "apns", "token": "aa", "user_id": "bob", "topics": ["music"]}"#,
                #"{"provider": "apns", "token": "cc", "topics": ["no topic"]}"#,
                #"{"provider": "apns", "token": "cc", "topics": "news"}"#,
            ],
            app: "shop"
        )
        #expect(outcomes.map { $0[0] } == ["new", "new", "updated", "refused", "refused"])
        #expect(outcomes.map { $0[1] } == [nil, nil, nil, "topics", "topics"])
        let subscriptions = try connection.query(
            """
            SELECT d.token || coalesce(d.user_id, '') || t.name FROM fanfare.subscriptions AS s
            JOIN fanfare.devices AS d ON d.id = s.device_id JOIN fanfare.topics AS t ON t.id = s.topic_id ORDER BY 1
            """
        ).rows.map { $0[0] }
        #expect(subscriptions == ["aabobmusic", "bbnews"])
    }

    @Test func aDryRunLeavesNothingBehind() throws {
        let rows = #"[{"provider": "apns", "token": "aa"}, {"provider": "apns", "token": "x"}]"#
        let outcomes = try connection.query(
            "SELECT outcome FROM fanfare.import_devices('unheard-of', $1::jsonb, true) ORDER BY number",
            rows
        ).rows.map { $0[0] }
        #expect(outcomes == ["new", "refused"])
        #expect(try connection.number("SELECT count(*) FROM fanfare.apps") == 0)
        #expect(try connection.number("SELECT count(*) FROM fanfare.devices") == 0)
    }
}
