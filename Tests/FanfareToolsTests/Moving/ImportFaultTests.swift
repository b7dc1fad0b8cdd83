import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareMoving
@testable import FanfareTools

/// Rows of devices that no push can reach, which the database cannot detect.
@Suite(.database)
struct ImportFaultTests {
    /// 65 bytes that start with 4 and are not a point of P-256.
    private static let offCurve = "BAEB" + String(repeating: "AQEB", count: 20) + "AQE"

    private func line(_ endpoint: String, _ key: String, _ more: String = "") -> String {
        #"{"endpoint": "\#(endpoint)", "keys": {"p256dh": "\#(key)", "auth": "\#(SampleSubscription.auth)"}\#(more)}"#
    }

    @Test func theyAreRefusedUnlessTheyAreDisabled() async throws {
        try await withNewFolder { folder in
            var importer = TestImporter(folder)
            importer.request.includesDisabled = true
            let removed = "https://permanently-removed.invalid/fcm/send"
            let tally = try await importer.run(
                """
                \(line("https://x.example/1", Self.offCurve))
                \(line("\(removed)/2", SampleSubscription.p256dh))
                \(line("https://x.example/3", SampleSubscription.p256dh))
                \(line("\(removed)/4", Self.offCurve, #", "disabled": true"#))
                """
            )
            #expect(
                importer.refused == [
                    "1 keys.p256dh: is not a point of P-256",
                    "2 endpoint: names a host below .invalid, which never exists",
                ]
            )
            #expect(tally.new == 2)
            let rows = "SELECT right(token, 1) || (disabled_at IS NULL) FROM fanfare.devices ORDER BY id"
            #expect(try sql(rows) == ["3true", "4false"])
        }
    }

    @Test func aSubscriptionInOneColumnIsToldByThatColumn() async throws {
        try await withNewFolder { folder in
            var importer = TestImporter(folder)
            _ = try await importer.run(#"{"subscription": \#(line("https://x.example/1", Self.offCurve))}"#)
            #expect(importer.refused == ["1 subscription: is not a point of P-256"])
        }
    }
}
