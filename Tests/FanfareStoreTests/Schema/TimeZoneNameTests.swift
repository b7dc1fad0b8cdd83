import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// Names of time zones in use by phones, browsers and people, including old ones.
@Suite(.database)
struct TimeZoneNameTests {
    @Test(
        arguments: [
            ("Asia/Calcutta", "Asia/Kolkata"), ("Asia/Saigon", "Asia/Ho_Chi_Minh"), ("Asia/Katmandu", "Asia/Kathmandu"),
            ("Asia/Rangoon", "Asia/Yangon"), ("America/Buenos_Aires", "America/Argentina/Buenos_Aires"),
            ("US/Pacific", "America/Los_Angeles"), ("Europe/Madrid", "Europe/Madrid"), ("UTC", "UTC"), ("Zulu", "UTC"),
            ("Japan", "Asia/Tokyo"), ("CET", "Europe/Brussels"), ("EST5EDT", "America/New_York"),
            ("GB", "Europe/London"),
            ("GMT+0530", "Asia/Kolkata"), ("GMT+05:30", "Asia/Kolkata"), ("GMT+05:45", "Asia/Kathmandu"),
            ("GMT+2", "Etc/GMT-2"), ("UTC-03:00", "Etc/GMT+3"), ("GMT+00:00", "UTC"), ("GMT+14", "Etc/GMT-14"),
            ("GMT+15", nil), ("GMT-14", nil), ("GMT+05:15", nil), ("+02:00", nil), ("Mars/Olympus", nil), ("CEST", nil),
        ] as [(String, String?)]
    )
    func names(name: String, expected: String?) throws {
        let connection = try TestDatabase.current.connect()
        let row = try connection.query("SELECT fanfare.time_zone($1), fanfare.zone($1, 'UTC')", name).rows[0]
        #expect(row[0] == expected)
        #expect(row[1] == expected || row[1] == name || expected == nil && row[1] == "UTC")
        _ = try connection.query("SELECT fanfare.register_device('shop', 'fcm', 'a:1', 'ann', time_zone => $1)", name)
        let stored = try connection.query("SELECT time_zone FROM fanfare.devices").rows[0][0]
        #expect(stored == expected)
    }

    /// A server may lack old names; none of them is mapped to a name that the server lacks.
    @Test func whatOldNamesBecomeIsKnown() throws {
        let connection = try TestDatabase.current.connect()
        let unknown = try connection.column(
            "SELECT o.key FROM jsonb_each_text(fanfare.old_time_zones()) AS o WHERE NOT fanfare.is_time_zone(o.value)"
        )
        #expect(unknown == [])
        #expect(try connection.number("SELECT count(*) FROM jsonb_object_keys(fanfare.old_time_zones())") > 140)
    }

    @Test(arguments: ["EST5EDT", "Japan", "Singapore", "Turkey", "Israel", "Hongkong", "PRC", "GB", "NZ", "Etc/GMT0"])
    func namesWithoutASlashCanBeWrittenInSchedules(name: String) throws {
        let connection = try TestDatabase.current.connect()
        #expect(try connection.query("SELECT fanfare.is_time_zone($1)", name).rows[0][0] == "t")
    }

    /// PostgreSQL reads these as abbreviations, which have no daylight saving time.
    @Test func anAbbreviationIsRefusedWithTheZone() throws {
        let connection = try TestDatabase.current.connect()
        let row = try connection.query(
            #"SELECT reason FROM fanfare.definition_error('schedule', '{"cron": "0 9 * * *", "time_zone": "CET"}', '')"#
        ).rows[0]
        #expect(row[0] == "'CET' is not a time zone that this server knows; write Europe/Brussels")
    }
}
