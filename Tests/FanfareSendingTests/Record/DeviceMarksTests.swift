import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The marks that the daemon writes, read by `fanfare.may_hold`.
@Suite(.database)
struct DeviceMarksTests {
    private static let ask = """
        SELECT count(*) FROM unnest($1::bigint[]) AS d (id) WHERE fanfare.may_hold(decode($2, 'hex'), d.id)
        """

    private func held(_ ids: [Int64], by marks: DeviceMarks?) throws -> Int64 {
        let list = "{" + ids.map(String.init).joined(separator: ",") + "}"
        let hex = marks?.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return try TestDatabase.current.connect().number(Self.ask, list, hex)
    }

    @Test(arguments: [1, 2, 3, 7, 50, 499, 1000])
    func noDeviceOfABatchIsMissedAndFewOthersAreTaken(_ count: Int) throws {
        var random = SeededGenerator(seed: UInt64(count))
        let ids = (0..<count).map { _ in Int64.random(in: 1...3_000_000, using: &random) }
        let marks = DeviceMarks(ids)
        #expect(marks.bytes.count == 2 * count)
        #expect(try held(ids, by: marks) == Int64(count))
        let others = (0..<20_000).map { _ in Int64.random(in: 3_000_001...9_000_000, using: &random) }
        let taken = try held(others, by: marks)
        #expect(taken < (count < 50 ? 2_000 : 200), "\(taken) of 20,000")
    }

    @Test func neighboursAndTheGreatestIdsAreToldApart() throws {
        let ids = Array(Int64(1_000_000)..<1_000_500) + [.max, 0]
        let marks = DeviceMarks(ids)
        #expect(try held(ids, by: marks) == Int64(ids.count))
        #expect(try held(Array(2_000_000..<2_010_000), by: marks) < 200)
    }

    @Test func withoutMarksEveryDeviceMayBeInIt() throws {
        #expect(try held([1, 2], by: nil) == 2)
    }
}
