import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// What devices say about what their users allow.
@Suite(.database)
struct PermissionTests {
    let connection: PostgresConnection

    init() throws {
        connection = try TestDatabase.current.connect()
    }

    private func register(_ token: String, _ user: String, _ more: String = "") throws -> Int64 {
        let rest = more.isEmpty ? "" : ", " + more
        return try connection.number("SELECT fanfare.register_device('shop', 'apns', '\(token)', '\(user)'\(rest))")
    }

    private func said(_ id: Int64) throws -> [String?] {
        try connection.query("SELECT permission, presents::text FROM fanfare.devices WHERE id = $1", String(id)).rows[0]
    }

    @Test func aRegistrationChangesWhatItSays() throws {
        let id = try register("ab", "ann")
        #expect(try said(id) == [nil, nil])
        #expect(try register("ab", "ann", "permission => 'authorized', presents => '{sound,alert,sound}'") == id)
        #expect(try said(id) == ["authorized", "{alert,sound}"])
        #expect(try register("ab", "ann") == id)
        #expect(try said(id) == ["authorized", "{alert,sound}"])
        #expect(try register("ab", "ann", "permission => 'provisional'") == id)
        #expect(try said(id) == ["provisional", "{alert,sound}"])
        #expect(try register("ab", "ann", "presents => '{}'") == id)
        #expect(try said(id) == ["provisional", "{}"])
        #expect(try register("cd", "ann", "replaces => 'ab'") == id)
        #expect(try said(id) == ["provisional", "{}"])
    }

    /// As its locale and time zone.
    @Test func theDeviceOfAnotherUserBeginsAnew() throws {
        let id = try register("ab", "ann", "permission => 'denied', presents => '{alert}', locale => 'es'")
        let moved = try register("ab", "bob")
        #expect(moved != id)
        #expect(try said(moved) == [nil, nil])
        let row = try connection.query("SELECT locale FROM fanfare.devices WHERE id = $1", String(moved)).rows[0]
        #expect(row == [nil])
        #expect(try said(try register("ab", "eve", "permission => 'authorized'")) == ["authorized", nil])
    }

    /// What is refused, with the field that an import names and the beginning of the message.
    static let refusals: [(arguments: String, row: String, field: String, reason: String)] = [
        ("permission => 'yes'", #""permission": "yes""#, "permission", "unknown permission 'yes'"),
        ("permission => ''", #""permission": """#, "permission", "unknown permission ''"),
        ("permission => 'Denied'", #""permission": "Denied""#, "permission", "unknown permission 'Denied'"),
        ("permission => 'unknown'", #""permission": "unknown""#, "permission", "unknown permission 'unknown'"),
        (
            "presents => '{alert,banner}'", #""presents": ["alert", "banner"]"#, "presents",
            "unknown presentation 'banner'"
        ),
        ("presents => '{NULL}'", #""presents": [null]"#, "presents", "unknown presentation NULL"),
        ("presents => '{\"\"}'", #""presents": [""]"#, "presents", "unknown presentation ''"),
    ]

    @Test(arguments: refusals)
    func whatNoDeviceCanHaveIsRefused(_ bad: (arguments: String, row: String, field: String, reason: String)) throws {
        let error = try #require(
            connection.refusal("SELECT fanfare.register_device('shop', 'apns', 'ab', \(bad.arguments))")
        )
        #expect(error.sqlState == "22023" && error.message == bad.reason && error.hint?.hasPrefix("Use a") == true)
        let row = try connection.query(
            "SELECT outcome, field, reason, hint FROM fanfare.import_devices('shop', $1::jsonb)",
            #"[{"provider": "apns", "token": "ab", \#(bad.row)}]"#
        ).rows[0]
        #expect(row == ["refused", bad.field, bad.reason, error.hint])
        #expect(try connection.number("SELECT count(*) FROM fanfare.devices") == 0)
    }

    @Test func anImportTakesLists() throws {
        func outcome(_ more: String) throws -> [String?] {
            try connection.query(
                "SELECT outcome, reason FROM fanfare.import_devices('shop', $1::jsonb)",
                #"[{"provider": "apns", "token": "ab", "user_id": "ann"\#(more)}]"#
            ).rows[0]
        }
        #expect(try outcome(#", "permission": "denied", "presents": ["sound", "alert"]"#) == ["new", nil])
        let id = try connection.number("SELECT id FROM fanfare.devices")
        #expect(try said(id) == ["denied", "{alert,sound}"])
        #expect(try outcome(#", "permission": null, "presents": null"#) == ["unchanged", nil])
        #expect(try outcome(#", "presents": []"#) == ["updated", nil])
        #expect(try said(id) == ["denied", "{}"])
        #expect(try outcome(#", "presents": "alert""#) == ["refused", "presents must be a JSON array"])
    }

    @Test func readersSeeIt() throws {
        _ = try register("ab", "ann", "permission => 'denied', presents => '{badge}'")
        try connection.execute("SET ROLE fanfare_reader")
        let rows = try connection.query("SELECT permission, presents::text FROM fanfare.devices").rows
        #expect(rows == [["denied", "{badge}"]])
    }

    /// A rule's filters, by SQL as by the daemon.
    @Test(arguments: [
        (#""permission": "maybe""#, "to.permission: is neither one of its values nor a list of them"),
        (#""permission": []"#, "to.permission: is neither one of its values nor a list of them"),
        (#""permission": ["denied", 7]"#, "to.permission: is neither one of its values nor a list of them"),
        (#""permission": {"is": "denied"}"#, "to.permission: is neither one of its values nor a list of them"),
        (#""presents": "unknown""#, "to.presents: is neither one of its values nor a list of them"),
        (#""presents": true"#, "to.presents: is neither one of its values nor a list of them"),
    ])
    func aFilterOfOtherWordsIsRefused(filter: String, message: String) throws {
        let to = #"{"everyone": true, \#(filter)}"#
        let text = #""message": {"notification": {"title": "T"}}"#
        for call in [
            #"put_rule('{"app": "shop", "name": "r", "event": "e", "to": \#(to), \#(text)}')"#,
            #"put_campaign('{"app": "shop", "name": "c", "to": \#(to), \#(text)}')"#,
            #"send('{"app": "shop", "to": \#(to), \#(text)}')"#,
        ] {
            let error = try #require(connection.refusal("SELECT fanfare.\(call)"), "\(call)")
            #expect(error.message == message && error.hint?.hasPrefix("known are a") == true, "\(error)")
        }
    }
}
