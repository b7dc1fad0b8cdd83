import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// The instant of a wall time in a zone, and the end of quiet hours there.
@Suite(.database) struct WallTimeTests {
    private let connection: PostgresConnection

    init() throws {
        connection = try TestDatabase.current.connect()
        try connection.execute("SET TimeZone = 'UTC'")
    }

    @Test(
        arguments: [
            ("Europe/Madrid", "Europe/Madrid"), ("America/Argentina/Buenos_Aires", "America/Argentina/Buenos_Aires"),
            ("UTC", "UTC"), ("Etc/GMT+5", "Etc/GMT+5"), ("Europe/Atlantis", "Asia/Tokyo"), ("Mars/Base5", "Asia/Tokyo"),
            ("UTC+3", "Etc/GMT-3"), ("CET", "Europe/Brussels"), ("Japan", "Japan"), ("", "Asia/Tokyo"),
            (nil, "Asia/Tokyo"),
        ] as [(String?, String)]
    )
    func zonesAreKnownOrReplaced(name: String?, expected: String) throws {
        #expect(try connection.text("SELECT fanfare.zone($1, 'Asia/Tokyo')", name) == expected)
        let isKnown = expected != "Asia/Tokyo"
        #expect(try connection.text("SELECT fanfare.zone($1, NULL)", name) == (isKnown ? expected : nil))
    }

    @Test func instantsAgreeWithTheTable() throws {
        let rows = try TimeTable.rows("instants")
        #expect(Set(rows.map { $0[0] }).count > 30)
        for row in rows {
            let time = try connection.text(
                """
                SELECT to_char(fanfare.instant($1::timestamp, $2) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
                """,
                row[1],
                row[0]
            )
            #expect(time == row[2], "\(row[1]) in \(row[0])")
        }
    }

    // MARK: Quiet hours

    private func wakes(_ time: String, _ from: String, _ until: String, _ zone: String = "Europe/Madrid") throws
        -> String?
    {
        try connection.text(
            "SELECT fanfare.wakes_at($1::timestamp AT TIME ZONE $2, $2, $3::time, $4::time) AT TIME ZONE $2",
            time,
            zone,
            from,
            until
        )
    }

    @Test func quietHoursEndWhenTheySay() throws {
        #expect(try wakes("2024-06-01 22:00", "22:00", "08:00") == "2024-06-02 08:00:00")
        #expect(try wakes("2024-06-02 07:59:59", "22:00", "08:00") == "2024-06-02 08:00:00")
        #expect(try wakes("2024-06-02 08:00", "22:00", "08:00") == nil)
        #expect(try wakes("2024-06-02 21:59:59", "22:00", "08:00") == nil)
        #expect(try wakes("2024-06-02 13:30", "13:00", "15:00") == "2024-06-02 15:00:00")
        #expect(try wakes("2024-06-02 15:00", "13:00", "15:00") == nil)
        #expect(try wakes("2024-06-02 23:30", "22:00", "24:00") == "2024-06-03 00:00:00")
        #expect(try wakes("2024-06-02 23:30", "22:00", "00:00") == "2024-06-03 00:00:00")
        #expect(try connection.text("SELECT fanfare.wakes_at(now(), 'UTC', NULL, '08:00')") == nil)
    }

    @Test func quietHoursEndAtTheFirstShowing() throws {
        let wakes = { (time: String) in
            try connection.text("SELECT fanfare.wakes_at($1::timestamptz, 'Europe/Madrid', '22:00', '02:30')", time)
        }
        #expect(try wakes("2024-10-27 00:10Z") == "2024-10-27 00:30:00+00", "02:10, the first")
        #expect(try wakes("2024-10-27 01:10Z") == nil, "02:10, the second")
        #expect(try wakes("2024-10-27 20:59Z") == nil)
        #expect(try wakes("2024-10-27 21:00Z") == "2024-10-28 01:30:00+00")
    }

    @Test func quietHoursThatEndInAMissingHourEndLater() throws {
        #expect(try wakes("2024-03-31 01:10", "22:00", "02:30") == "2024-03-31 03:30:00")
        #expect(try wakes("2024-03-31 03:10", "22:00", "02:30") == nil)
        // The only time outside quiet hours, from 02:30 to 03:00, is missing on this day.
        #expect(try wakes("2024-03-31 01:10", "03:00", "02:30") == "2024-04-01 02:30:00")
    }

    /// Every few minutes around clock changes, for quiet hours that begin, end or lie within them.
    @Test func whoWakesIsNeverAsleepAndNeverLate() throws {
        let zones = Set(try TimeTable.rows("instants").map { $0[0] }).sorted()
        let counts = try connection.query(
            """
            WITH samples AS (
                SELECT z.zone, c.at + m.minute * interval '13 minutes' AS at, q.starts, q.ends
                FROM unnest(string_to_array($1, ' ')) AS z (zone)
                CROSS JOIN LATERAL (
                    -- Days that are shorter or longer than others.
                    SELECT d.day AT TIME ZONE z.zone AS at
                    FROM generate_series(timestamp '2024-01-01', '2024-12-31', interval '1 day') AS d (day)
                    WHERE (d.day + interval '1 day') AT TIME ZONE z.zone - d.day AT TIME ZONE z.zone <> interval '24 hours'
                ) AS c
                CROSS JOIN generate_series(-60, 110) AS m (minute)
                CROSS JOIN (VALUES (time '22:00', time '08:00'), ('08:00', '22:00'), ('01:15', '01:45'), ('23:30', '02:30'),
                    ('02:10', '02:50'), ('00:00', '00:30'), ('23:59', '00:00'), ('03:00', '02:30')) AS q (starts, ends)
            ), answers AS (
                SELECT s.*, fanfare.wakes_at(s.at, s.zone, s.starts, s.ends) AS wakes, (s.at AT TIME ZONE s.zone)::time AS wall
                FROM samples AS s
            )
            SELECT count(*) > 50000, count(wakes) > 15000,
                count(*) FILTER (WHERE wakes <= at), count(*) FILTER (WHERE wakes > at + interval '2 days'),
                count(*) FILTER (WHERE fanfare.wakes_at(wakes, zone, starts, ends) IS NOT NULL),
                count(*) FILTER (WHERE wakes IS NOT NULL
                    AND NOT CASE WHEN starts < ends THEN wall >= starts AND wall < ends ELSE wall >= starts OR wall < ends END)
            FROM answers
            """,
            zones.joined(separator: " ")
        ).rows
        #expect(counts == [["t", "t", "0", "0", "0", "0"]])
    }
}
