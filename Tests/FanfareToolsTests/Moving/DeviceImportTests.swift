import FanfareCore
import Foundation
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareMoving
@testable import FanfareTools
@testable import fanfare

/// The import of other systems' files into the database.
@Suite(.database)
struct DeviceImportTests {
    private static let apns = String(repeating: "ab", count: 32)
    private static let subscription =
        #"{"endpoint": "https://x.example/1", "keys": {"p256dh": "\#(SampleSubscription.p256dh)", "auth": "\#(SampleSubscription.auth)"}}"#

    private func devices() throws -> [String?] {
        try sql(
            """
            SELECT concat_ws(' ', d.provider, left(d.token, 12), d.user_id, d.locale, d.time_zone, d.attributes::text,
                to_char(d.registered_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), d.disabled_reason)
            FROM fanfare.devices AS d ORDER BY d.id
            """
        )
    }

    @Test func oneSignalsExportIsTakenAsItIs() async throws {
        try await withNewFolder { folder in
            var importer = TestImporter(folder)
            let header =
                "id,identifier,session_count,language,timezone,device_type,tags,last_active,created_at,invalid_identifier,"
            let tally = try await importer.run(
                """
                \(header)external_user_id,timezone_id,web_auth,web_p256
                1,\(Self.apns),3,es,3600,0,"{""tier"": ""gold""}",2024-11-10 12:00:00 UTC,2020-01-01 00:00:00 UTC,false,ann,Europe/Madrid,,
                2,fcm:Token-1,1,en,-28800,1,{},2024-11-11 12:00:00 UTC,,f,bob,,,
                3,https://x.example/1,1,de,,5,,,2021-02-03 00:00:00 UTC,false,,,\(SampleSubscription.auth),\(SampleSubscription.p256dh)
                4,ann@example.com,0,en,,11,,,,false,,,,
                5,fcm:Token-2,1,en,,1,,,,true,,,,
                6,,1,en,,1,,,,false,,,,
                7,ABCDEF,1,,,7,,,,false,,,,

                """
            )
            #expect(tally.read == 7 && tally.new == 3 && tally.refusedCount == 0)
            #expect(
                tally.skipped == [
                    "of email": 1, "disabled there": 1, "without a token": 1, "of Safari before version 16": 1,
                ]
            )
            #expect(
                try devices() == [
                    #"apns abababababab ann es Europe/Madrid {"tier": "gold"} 2024-11-10"#,
                    "fcm fcm:Token-1 bob en 2024-11-11",
                    "webpush https://x.ex de 2021-02-03",
                ]
            )
            #expect(importer.columns.contains("identifier → token") && importer.columns.contains("web_p256 → p256dh"))
            importer.request.includesDisabled = true
            let again = try await importer.run(file: "\(folder)/devices.csv")
            #expect(again.new == 1 && again.unchanged == 3 && again.skipped["disabled there"] == nil)
            #expect(try devices().last == "fcm fcm:Token-2 en 1970-01-01 unregistered")
        }
    }

    @Test func aColumnOfFIDsSaysSoByItsName() async throws {
        try sql("SELECT fanfare.register_device('shop', 'fcm', 'X:one', 'ann')")
        try await withNewFolder { folder in
            var importer = TestImporter(folder)
            let tally = try await importer.run(
                "fid,user_id,registered_at\nX,ann,2099-01-01\nY,bob,\nZ:1,eve,\na.b,bob,\n"
            )
            #expect(tally.new == 2 && tally.updated == 1 && tally.refused.count == 1)
            #expect(importer.refused.contains { $0.contains("Firebase installation id") }, "\(importer.refused)")
            let other = try await importer.run("token,provider,address\nV,fcm,FID\nW,fcm,token\n")
            #expect(other.new == 2)
        }
        #expect(try sql("SELECT token FROM fanfare.devices WHERE address = 'fid' ORDER BY 1") == ["V", "X", "Y"])
        #expect(try sql("SELECT count(*) FROM fanfare.devices") == ["5"])
    }

    @Test func whatUsersAllowIsImported() async throws {
        try await withNewFolder { folder in
            var importer = TestImporter(folder)
            let file = """
                fcm_token,permission,presents
                a,granted,alert;badge
                b,Denied,[]
                c,not_determined,
                d,provisional,"[""sound""]"
                e,maybe,
                f,authorized,banner
                g,authorized,[7

                """
            let tally = try await importer.run(file)
            #expect(tally.new == 4 && tally.refused.count == 3, "\(importer.refused)")
            for reason in ["none of authorized, provisional and denied", "unknown presentation 'banner'", "JSON array"]
            {
                #expect(importer.refused.contains { $0.contains(reason) }, "\(importer.refused)")
            }
            let said = "SELECT concat_ws(' ', token, permission, presents::text) FROM fanfare.devices ORDER BY token"
            let rows = ["a authorized {alert,badge}", "b denied {}", "c", "d provisional {sound}"]
            #expect(try sql(said) == rows)
            // A file without the columns, or with empty cells, changes nothing.
            let plain = try await importer.run("fcm_token,permission\na,\nb,\n")
            #expect(plain.unchanged == 2)
            #expect(try sql(said) == rows)
            let changed = try await importer.run("fcm_token,permission\nb,authorized\nd,provisional\n")
            #expect(changed.updated == 1 && changed.unchanged == 1)
            #expect(try sql(said)[1] == "b authorized {}")
        }
    }

    @Test func tablesOfTokensNeedNoMoreThanNames() async throws {
        try await withNewFolder { folder in
            var importer = TestImporter(folder)
            #expect(try await importer.run("fcm_token;UID;Provider\nt1;ann;ios\nt2;;web\n").new == 2)
            #expect(
                try await importer.run("\u{FEFF}deviceToken,OS,country,vip\n\(Self.apns),iPhone,ES,yes\n").new == 1,
                "with a byte order mark"
            )
            let lines = """
                {"subscription": \(Self.subscription), "user_id": 7, "topics": ["news"]}

                {"push_token": "t3", "os": "Android", "attributes": {"tier": 2}, "enabled": true}
                """
            #expect(try await importer.run(lines).new == 2)
            importer.request.mappings = try ["Gerät=token", "country=attributes.country", "user=-"].map {
                try ColumnMapping($0)
            }
            importer.request.provider = "fcm"
            #expect(try await importer.run("user,Gerät,country\nann,t4,ES\n").new == 1)
            #expect(
                try devices() == [
                    "fcm t1 ann 1970-01-01", "fcm t2 1970-01-01", "apns abababababab 1970-01-01",
                    "webpush https://x.ex 7 1970-01-01", #"fcm t3 {"tier": 2} 1970-01-01"#,
                    #"fcm t4 {"country": "ES"} 1970-01-01"#,
                ]
            )
            #expect(try sql("SELECT count(*) FROM fanfare.subscriptions") == ["1"])
        }
    }

    /// The changes that spreadsheets, Windows, old Macs and MySQL make to a file.
    @Test func cellsOfSpreadsheetsAreReadAsTheyAreMeant() async throws {
        try await withNewFolder { folder in
            var importer = TestImporter(folder)
            let mac = "token,provider,user_id\r a9:A ,android,  u9\ra10:A,android,\"=\"\"10\"\"\"\r"
            let tally = try await importer.run(mac)
            #expect(tally.new == 2, "lines that end with carriage returns")
            #expect(try await importer.run("token,provider,user_id\na11:A ,android,'11\na12:A,android,\\N\n").new == 2)
            #expect(try await importer.run("token,provider,user_id,locale\n\\N,fcm,x,\na13:A,fcm,,NULL\n").new == 1)
            #expect(
                try devices() == [
                    "fcm a9:A u9 1970-01-01", "fcm a10:A 10 1970-01-01", "fcm a11:A 11 1970-01-01",
                    "fcm a12:A 1970-01-01", "fcm a13:A 1970-01-01",
                ]
            )
            let empty = try? await importer.run("token,provider,user_id\n")
            #expect(empty == nil, "a file without rows")
        }
    }

    private static let secret = "secret:token-of-somebody"
    private static let badRows: [(row: String, refusal: String)] = [
        (
            "apns,\(secret),,,,",
            "device_token: this is not an APNs token: it must be an even number of hexadecimal digits"
        ),
        ("pigeon,\(secret),,,,", "provider: is not a provider: “pigeon”"),
        ("\(secret),apns,,,,", "provider: is not a provider: a text of 24 characters"),
        ("fcm,\(secret),,[1],,", "tags: is not a JSON object"),
        ("fcm,\(secret),,\"{\"\"a\"\": \"\"\\u0000\"\"}\",,", "tags: a has the character U+0000"),
        ("fcm,\(secret),,,10/11/2024,", "last_seen: is not a time: “10/11/2024”"),
        ("fcm,\(secret),,,,no%20topic!", "topics: there can be no such topic"),
        ("webpush,https://x.example/\(secret),,,,", "p256dh: Web Push needs p256dh and auth"),
        ("fcm,NULL,,,,", "device_token: the token is 'NULL', which programs write where they have none"),
        ("fcm,\(secret),null,,,", "user_id: is “null”, which programs write for no value; leave it empty"),
        (
            "fcm,\(secret),5.07553E+16,,,",
            "user_id: is a number that a program rounded: “5.07553E+16”; export the column as text"
        ),
        ("fcm,\(secret),7.0,,,", "user_id: is a number that a program rounded: “7.0”; export the column as text"),
        ("fcm,\(secret)", "-: the row has 2 fields, the first line 6"),
        ("\"fcm\"x,\(secret),,,,", "-: the row has a text after the quote that closes field 1"),
        ("fcm,\(secret),\(String(repeating: "u", count: 2049)),,,", "user_id: the user's id is longer than 2048 bytes"),
        ("\"fcm,\(secret),,,,", "-: the row has a quote that is not closed within 1 MiB"),
    ]

    @Test func whatIsRefusedIsToldByLineColumnAndReason() async throws {
        try await withNewFolder { folder in
            var importer = TestImporter(folder)
            importer.rejects = "\(folder)/rejected.csv"
            let rows = Self.badRows.map(\.row).joined(separator: "\nfcm,good,,,,\n")
            let tally = try await importer.run("provider,device_token,user_id,tags,last_seen,topics\n\(rows)\n")
            #expect(importer.refused == Self.badRows.enumerated().map { "\($0 * 2 + 2) \($1.refusal)" })
            #expect(tally.refusedCount == Int64(Self.badRows.count) && tally.new == 1)
            #expect(tally.read == Int64(Self.badRows.count * 2 - 1))
            #expect(!(importer.refused.joined() + tally.text + tally.json.text).contains(Self.secret))

            let path = "\(folder)/rejected.csv"
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
            #expect(mode?.intValue == 0o600)
            let rejected = try String(contentsOfFile: path, encoding: .utf8)
            #expect(rejected.split(separator: "\n").count == Self.badRows.count + 1)
            #expect(rejected.contains(#""12","last_seen","is not a time"#))
            // After the correction, the rejected rows can be imported.
            importer.rejects = nil
            let mended = try await importer.run(
                rejected.replacing("10/11/2024", with: "2024-11-10").replacing("no%20topic!", with: "ok")
            )
            #expect(mended.new == 1 && mended.skipped == ["older than what is here": 1])
        }
    }

    @Test func refusedLinesOfJSONKeepTheirMembers() async throws {
        try await withNewFolder { folder in
            var importer = TestImporter(folder)
            importer.rejects = "\(folder)/rejected.jsonl"
            _ = try await importer.run("{\"token\": \"x\", \"provider\": \"apns\", \"n\": 1.50}\n[1]\n{\"token\": \n")
            #expect(importer.refused.map { $0.prefix(2) } == ["1 ", "2 ", "3 "])
            let lines = try String(contentsOfFile: "\(folder)/rejected.jsonl", encoding: .utf8).split(separator: "\n")
            #expect(lines[0].contains(#""n":1.50,"fanfare_line":1,"fanfare_column":"token""#))
            #expect(lines[1].contains(#""fanfare_row":"[1]""#) && lines[1].contains("an array, not an object"))
        }
    }

    /// Twenty rows, some of them rejected, skipped or duplicate.
    private static let twenty =
        "provider,token,enabled,note\n"
        + (1...20).map { n in
            let token = n % 7 == 0 ? "n o" : n % 5 == 0 ? "t1" : "t\(n)"
            return "fcm,\(token),\(n % 6 == 0 ? "no" : "yes"),\"line\n\(n)\""
        }.joined(separator: "\n")

    @Test func whatWasStoppedGoesOnAndCountsNothingTwice() async throws {
        try await withNewFolder { folder in
            var whole = TestImporter(folder)
            whole.request.app = "whole"
            whole.rejects = "\(folder)/whole.csv"
            let expected = try await whole.run(Self.twenty)
            var importer = TestImporter(folder)
            importer.rejects = "\(folder)/rejected.csv"
            importer.chunks = 3
            await #expect(throws: ToolError.self) { try await importer.run(Self.twenty) }
            #expect(
                try sql(
                    "SELECT count(*) FROM fanfare.devices AS d JOIN fanfare.apps AS a ON a.id = d.app_id WHERE a.name = 'shop'"
                ) != ["0"]
            )
            // The process was killed after it had written rejects of the next chunk, and before that chunk was
            // committed.
            let handle = try FileHandle(forUpdating: URL(fileURLWithPath: "\(folder)/rejected.csv"))
            try handle.seekToEnd()
            try handle.write(contentsOf: Data("\"99\",half a row".utf8))
            try handle.close()

            importer.request.resumes = true
            importer.chunks = 1
            await #expect(throws: ToolError.self) { try await importer.run(Self.twenty) }
            #expect(importer.resumedAt == 20, "nine rows of two lines each, behind the first line")
            importer.chunks = nil
            let tally = try await importer.run(Self.twenty)
            #expect(importer.resumedAt == 26)
            #expect(tally == expected && tally.refusedCount == 2 && tally.skippedCount == 3)
            let files = try ["whole", "rejected"].map {
                try String(contentsOfFile: "\(folder)/\($0).csv", encoding: .utf8)
            }
            #expect(files[0] == files[1])

            let again = try await importer.run(Self.twenty)
            #expect(again == expected, "it is imported: nothing is read")
            importer.request.resumes = false
            importer.rejects = nil
            let anew = try await importer.run(Self.twenty)
            #expect(anew.unchanged == expected.new + expected.unchanged && anew.new == 0)
        }
    }

    @Test func anotherFileOrAnotherReadingDoesNotGoOn() async throws {
        try await withNewFolder { folder in
            var importer = TestImporter(folder)
            importer.chunks = 1
            await #expect(throws: ToolError.self) { try await importer.run(Self.twenty) }
            importer.chunks = nil
            importer.request.resumes = true
            #expect(try await importer.run(Self.twenty + "\nfcm,more,yes,").read == 21)
            #expect(importer.resumedAt == nil)
            importer.request.includesDisabled = true
            #expect(try await importer.run(Self.twenty).read == 20)
            importer.request.includesDisabled = false
            importer.request.resumes = false
            _ = try await importer.run(Self.twenty)
            #expect(importer.stoppedBefore == 8)
        }
    }

    /// Independent of the file's size, and of where it differs.
    @Test(arguments: [1, 500_000, 999_999])
    func aFileIsKnownByAllThatIsInIt(place: Int) async throws {
        try await withNewFolder { folder in
            let path = "\(folder)/devices.csv"
            var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)
            let fingerprint = {
                try Data(bytes).write(to: URL(fileURLWithPath: path))
                return try ImportSource(path).fingerprint("how")
            }
            let (first, again) = (try fingerprint(), try fingerprint())
            bytes[place] = UInt8(ascii: "b")
            #expect(try first != nil && first == again && first != fingerprint())
        }
    }

    @Test func oneRowThatTheDatabaseCannotTakeCostsItselfOnly() async throws {
        try sql("ALTER TABLE fanfare.devices ADD CONSTRAINT no_evil CHECK (user_id <> 'evil')")
        try await withNewFolder { folder in
            var importer = TestImporter(folder)
            importer.rowsAtOnce = 8
            importer.request.provider = "fcm"
            let rows = (1...8).map { "t\($0),\($0 == 6 ? "evil" : "u")" }.joined(separator: "\n")
            let tally = try await importer.run("token,user\n\(rows)\n")
            #expect(tally.new == 7 && tally.read == 8)
            #expect(importer.refused == ["7 -: the database refuses it (SQLSTATE 23514)"])
        }
    }

    @Test func aDryRunTellsAndChangesNothing() async throws {
        try await withNewFolder { folder in
            var importer = TestImporter(folder)
            importer.request.isDryRun = true
            let tally = try await importer.run(Self.twenty)
            #expect(tally.refusedCount == 2 && tally.new == 15)
            #expect(try sql("SELECT count(*) FROM fanfare.devices") == ["0"])
            #expect(try sql("SELECT count(*) FROM fanfare.imports") == ["0"])
        }
    }

    @Test(arguments: [
        ("", "is empty"), ("a,b\n1,2\n", "no column"), ("[{\"token\": 1}]", "one JSON array"),
    ])
    func whatCannotBeImportedIsToldAtOnce(text: String, reason: String) async throws {
        try await withNewFolder { folder in
            var importer = TestImporter(folder)
            let error = await #expect(throws: ToolError.self) { try await importer.run(text) }
            #expect(error?.reason.contains(reason) == true)
        }
    }

    @Test func compressedFilesAndUTF16AreNamed() async throws {
        try await withNewFolder { folder in
            for (bytes, word) in [([0x1F, 0x8B, 8, 0] as [UInt8], "zcat"), ([0xFF, 0xFE, 0x61, 0], "iconv")] {
                let path = "\(folder)/\(word)"
                try Data(bytes).write(to: URL(fileURLWithPath: path))
                let error = #expect(throws: ToolError.self) {
                    try DeviceImport(DeviceImportRequest(app: "shop"), ImportSource(path), rejects: nil)
                }
                #expect(error?.hint.contains(word) == true)
            }
        }
    }

    @Test(arguments: ["token", "=token", "a=tokn", "a=attributes."])
    func mappingsAreChecked(text: String) throws {
        let error = #expect(throws: ToolError.self) { try ColumnMapping(text) }
        #expect(error?.kind == .usage && error?.hint.contains("registered_at") == true)
    }

    @Test func rejectedRowsNeverReplaceAFile() async throws {
        try await withNewFolder { folder in
            var importer = TestImporter(folder)
            importer.rejects = try importer.file("precious", named: "rejected.csv")
            let error = await #expect(throws: ToolError.self) { try await importer.run(Self.twenty) }
            #expect(error?.kind == .usage)
            #expect(try String(contentsOfFile: "\(folder)/rejected.csv", encoding: .utf8) == "precious")
        }
    }
}
