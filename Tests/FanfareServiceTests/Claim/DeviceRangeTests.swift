import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareStore

/// Devices read as a range of ids, against one look-up for each.
@Suite(.database)
struct DeviceRangeTests {
    @Test func aRangeGivesTheSameDevices() throws {
        let world = try World()
        let ids = Array(try world.devices(300, user: "u"))
        try world.connection.execute(
            """
            UPDATE fanfare.devices SET disabled_at = now(), disabled_reason = 'unregistered' WHERE id % 7 = 0;
            DELETE FROM fanfare.devices WHERE id % 5 = 0;
            UPDATE fanfare.devices SET locale = 'de', registered_at = registered_at + interval '1 hour' WHERE id % 3 = 0;
            """
        )
        for wanted in [ids, ids.filter { $0 % 2 == 0 }, Array(ids.dropLast(10))] {
            let range = try #require(FetchDeviceRange(around: wanted))
            // More often than a session prepares a plan of its own for each call.
            for _ in 0..<7 {
                let found = DeviceRow.align(try world.connection.run(range), to: wanted)
                let rows = try world.connection.run(FetchDevices(deviceIDs: wanted))
                #expect(found.map { "\($0)" } == DeviceRow.align(rows, to: wanted).map { "\($0)" })
                #expect(rows.map(\.id) == wanted.filter { $0 % 5 != 0 })
            }
        }
    }

    @Test func devicesInAnyOrderGetTheirPlaces() throws {
        let world = try World()
        let ids = Array(try world.devices(100, user: "u"))
        try world.connection.execute("DELETE FROM fanfare.devices WHERE id % 5 = 0")
        let wanted = ids.reversed() + ids.shuffled() + [ids[0], ids[0], Int64.max, Int64.min]
        let rows = try world.connection.run(FetchDevices(deviceIDs: wanted))
        let tokens = Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0.device.token) })
        #expect(DeviceRow.align(rows, to: wanted).map(\.token) == wanted.map { tokens[$0] ?? nil })
        #expect(DeviceRow.align([], to: wanted).allSatisfy { $0.token == nil })
        #expect(rows.count == tokens.count && rows.count < ids.count)
    }

    @Test func onlyCloseAscendingIdsAreRead() {
        let close = (1...200).map { Int64($0) }
        #expect(FetchDeviceRange(around: close) != nil)
        #expect(FetchDeviceRange(around: close.map { $0 * 2 }) != nil)
        #expect(FetchDeviceRange(around: close.map { $0 * 3 }) == nil)
        #expect(FetchDeviceRange(around: Array(close.prefix(49))) == nil, "too few")
        #expect(FetchDeviceRange(around: close.reversed()) == nil)
        #expect(FetchDeviceRange(around: close.dropLast() + [199]) == nil, "twice the same")
        #expect(FetchDeviceRange(around: close + [Int64.max]) == nil)
        #expect(FetchDeviceRange(around: []) == nil)
    }
}
