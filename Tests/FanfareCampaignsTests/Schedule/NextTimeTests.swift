import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// Schedules as the daemon parses and the database computes them.
@Suite(.database) struct NextTimeTests {
    private let connection: PostgresConnection

    init() throws {
        connection = try TestDatabase.current.connect()
        // The lists as in JSON, without the brackets.
        try connection.execute(
            """
            CREATE FUNCTION pg_temp.list(fields jsonb, name text) RETURNS int[] LANGUAGE sql
                RETURN translate(fields ->> name, '[]', '{}')::int[];
            CREATE FUNCTION pg_temp.next(fields jsonb, zone text, after timestamptz) RETURNS timestamptz LANGUAGE sql
                RETURN fanfare.next_time(pg_temp.list(fields, 'minutes'), pg_temp.list(fields, 'hours'),
                    pg_temp.list(fields, 'days'), pg_temp.list(fields, 'months'), pg_temp.list(fields, 'weekdays'),
                    (fields -> 'any_day')::boolean, (fields -> 'wild')::boolean, zone, after);
            CREATE FUNCTION pg_temp.next_wall(fields jsonb, after timestamp) RETURNS timestamp LANGUAGE sql
                RETURN fanfare.next_wall(pg_temp.list(fields, 'minutes'), pg_temp.list(fields, 'hours'),
                    pg_temp.list(fields, 'days'), pg_temp.list(fields, 'months'), pg_temp.list(fields, 'weekdays'),
                    (fields -> 'any_day')::boolean, after);
            """
        )
    }

    /// Returns consecutive times in UTC: `2024-03-31T01:30:00Z`; fewer if there are none for years.
    private func next(_ expression: String, _ zone: String, after: String, count: Int = 3) throws -> [String] {
        let fields = try CronExpression(expression).json.text
        var times = [after]
        while times.count <= count {
            let time = try connection.text(
                """
                SELECT to_char(pg_temp.next($1::jsonb, $2, $3::timestamptz) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
                """,
                fields,
                zone,
                times[times.count - 1]
            )
            guard let time else { break }
            times.append(time)
        }
        return Array(times.dropFirst())
    }

    /// Returns the same times in the zone, `31 03:30`: day, hour and minute.
    private func shown(_ expression: String, _ zone: String, after: String, count: Int = 3) throws -> [String] {
        try next(expression, zone, after: after, count: count).map { time in
            try #require(
                try connection.text("SELECT to_char($1::timestamptz AT TIME ZONE $2, 'DD HH24:MI')", time, zone)
            )
        }
    }

    @Test func agreesWithTheTable() throws {
        let rows = try TimeTable.rows("next-times")
        #expect(Set(rows.map { $0[0] + $0[1] }).count >= 80)
        for row in rows {
            #expect(
                try next(row[1], row[0], after: row[2]) == Array(row[3...]),
                "\(row[1]) in \(row[0]) after \(row[2])"
            )
        }
    }

    // MARK: Changes of clocks, in Madrid on 2024-03-31 at 02:00 and on 2024-10-27 at 03:00

    @Test func aMissingTimeComesLaterByAsMuchAsIsMissing() throws {
        #expect(
            try shown("30 2 * * *", "Europe/Madrid", after: "2024-03-30T12:00:00Z") == [
                "31 03:30", "01 02:30", "02 02:30",
            ]
        )
        // A time that exists may come before the missing one.
        #expect(try shown("0 2,3 31 * *", "Europe/Madrid", after: "2024-03-31T00:00:00Z", count: 1) == ["31 03:00"])
        #expect(
            try shown("30 2,3 * * *", "Europe/Madrid", after: "2024-03-31T00:00:00Z") == [
                "31 03:30", "01 02:30", "01 03:30",
            ],
            "two that become one come once"
        )
        #expect(
            try shown("15,45 2-3 31 * *", "Europe/Madrid", after: "2024-03-31T01:14:59Z") == [
                "31 03:15", "31 03:45", "31 02:15",
            ]
        )
    }

    @Test func aTimeThatIsShownTwiceComesOnce() throws {
        #expect(
            try next("30 2 * * *", "Europe/Madrid", after: "2024-10-26T12:00:00Z", count: 2)
                == ["2024-10-27T00:30:00Z", "2024-10-28T01:30:00Z"]
        )
        #expect(
            try next("0-59 2 * * *", "Europe/Madrid", after: "2024-10-27T01:10:00Z", count: 1) == [
                "2024-10-28T01:00:00Z"
            ],
            "nothing comes while it is shown again"
        )
    }

    @Test func wildOnesGoByElapsedTime() throws {
        #expect(
            try shown("*/30 * * * *", "Europe/Madrid", after: "2024-10-26T23:59:00Z", count: 6)
                == ["27 02:00", "27 02:30", "27 02:00", "27 02:30", "27 03:00", "27 03:30"]
        )
        #expect(
            try shown("*/30 * * * *", "Europe/Madrid", after: "2024-03-31T00:29:00Z", count: 3)
                == ["31 01:30", "31 03:00", "31 03:30"]
        )
        #expect(
            try shown("*/30 2 * * *", "Europe/Madrid", after: "2024-03-30T12:00:00Z", count: 2) == [
                "01 02:00", "01 02:30",
            ]
        )
    }

    @Test func aDayThatIsMissingComesADayLater() throws {
        #expect(
            try shown("0 9 * * *", "Pacific/Apia", after: "2011-12-29T12:00:00Z") == [
                "29 09:00", "31 09:00", "01 09:00",
            ]
        )
        #expect(try shown("0 9 30 12 *", "Pacific/Apia", after: "2011-12-29T12:00:00Z", count: 1) == ["31 09:00"])
    }

    // MARK: Nothing to come

    @Test func nothingForEightYearsIsNone() throws {
        #expect(try next("0 12 29 2 *", "UTC", after: "2096-02-29T12:00:00Z", count: 1) == ["2104-02-29T12:00:00Z"])
        #expect(try next("0 0 29 2 */7", "UTC", after: "2004-02-29T00:00:00Z", count: 1) == [], "the next is in 2032")
        // This hour is missing on every matching day.
        #expect(try next("*/10 2 25-31 3 */7", "Europe/Madrid", after: "2023-06-01T00:00:00Z", count: 1) == [])
        #expect(try shown("30 2 25-31 3 */7", "Europe/Madrid", after: "2023-06-01T00:00:00Z", count: 1) == ["31 03:30"])
        #expect(
            try connection.text(
                "SELECT fanfare.next_time('{0}', '{0}', '{30}', '{2}', '{0}', false, wild, 'UTC', now()) FROM unnest('{f,t}'::bool[]) AS wild"
            ) == nil
        )
    }

    // MARK: Wall times

    @Test func wallTimesKnowNoZone() throws {
        let fields = try CronExpression("30 2 * * *").json.text
        let next = { try connection.text("SELECT pg_temp.next_wall($1::jsonb, $2::timestamp)", fields, $0) }
        #expect(try next("2024-03-30 02:30") == "2024-03-31 02:30:00")
        #expect(try next("2024-03-31 02:29:59.999") == "2024-03-31 02:30:00")
        #expect(try next("2024-12-31 02:30:00.001") == "2025-01-01 02:30:00")
        #expect(try next("infinity") == nil)
        #expect(try next("-infinity") == nil)
    }

    /// The result does not depend on the session's settings.
    @Test func doesNotDependOnTheSession() throws {
        let before = try next("30 2 1,15 * mon", "Europe/Madrid", after: "2024-03-30T12:00:00Z")
        try connection.execute(
            "SET TimeZone = 'America/New_York'; SET DateStyle = 'SQL, DMY'; SET IntervalStyle = 'iso_8601'"
        )
        #expect(try next("30 2 1,15 * mon", "Europe/Madrid", after: "2024-03-30T12:00:00Z") == before)
    }
}
