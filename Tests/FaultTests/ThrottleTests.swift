import Foundation
import PostgresClient
import TestKit
import Testing

/// Tests of providers that send `Retry-After`: the daemon obeys it, up to a limit.
@Suite(.rig, .serialized, .timeLimit(.minutes(5)))
struct ThrottleTests {
    struct Throttle: Sendable, CustomTestStringConvertible {
        let name: String
        /// A member of the fault; empty for none.
        let field: String
        /// The shortest and longest time until the next attempt, in seconds.
        let wait: ClosedRange<Double>

        var testDescription: String { name }
    }

    // With a tolerance of 10 % and some seconds.
    static let throttles = [
        Throttle(name: "seconds", field: #", "retry_after": "120""#, wait: 119...140),
        Throttle(name: "a date", field: #", "retry_after": "\#(date(in: 300))""#, wait: 240...340),
        Throttle(name: "a date that is over", field: #", "retry_after": "\#(date(in: -300))""#, wait: 0...90),
        Throttle(name: "junk", field: #", "retry_after": "soon""#, wait: 0...90),
        Throttle(name: "ten years", field: #", "retry_after": 315360000"#, wait: 3590...4000),
        Throttle(name: "nothing", field: "", wait: 0...90),
    ]

    @Test(arguments: throttles) func theyAreGivenTheTimeTheyAskFor(throttle: Throttle) async throws {
        let rig = try Rig.current
        let fault = "429 with Retry-After: \(throttle.name), FCM"
        // The device's rate limit: with the project's limit, the whole sender would wait, and with it the next test
        // cases.
        let body = #"{\"error\": {\"status\": \"RESOURCE_EXHAUSTED\", \"message\": \"Device message rate exceeded.\"}}"#
        let audience = try await rig.audience("throttle-\(rig.random(0...1_000_000))", devices: 20, provider: "fcm")
        try await rig.sandbox.setFaults(
            #"[{"match": {"token": "^\#(audience.prefix)"}, "provider": "fcm", "do": "status", "status": 429, "body": "\#(body)", "times": 1\#(throttle.field)}]"#
        )
        try await rig.emit(1, to: audience)
        let mine =
            "rule_version IN (SELECT v.id FROM fanfare.rule_versions AS v JOIN fanfare.rules AS r ON r.id = v.rule_id WHERE r.name = '\(audience.name)')"
        try await rig.until(
            """
            SELECT coalesce(sum(cardinality(device_ids)), 0) = 20 FROM fanfare.batches WHERE owner IS NULL AND attempt = 2 AND \(mine)
            """,
            seconds: 30
        )
        let waits = try await rig.sql { connection in
            try connection.query(
                "SELECT extract(epoch FROM min(not_before - created_at))::text, extract(epoch FROM max(not_before - created_at))::text FROM fanfare.batches WHERE \(mine)"
            ).rows[0].compactMap { $0.flatMap { Double($0) } }
        }
        try await rig.sql { try $0.execute("UPDATE fanfare.batches SET not_before = clock_timestamp() WHERE \(mine)") }
        try await rig.untilIdle()
        let audit = try await rig.audit(audience, events: 1)
        audit.report(fault, "next attempt after \(waits.map { Int($0.rounded()) }) s")
        audit.expectNothingLost(fault)
        #expect(waits.count == 2 && waits.allSatisfy(throttle.wait.contains), "\(waits)")
        #expect(audit.duplicates == 0)
    }

    /// Returns a date in HTTP's format (RFC 9110 section 5.6.7).
    private static func date(in seconds: Double) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.string(from: Date(timeIntervalSinceNow: seconds))
    }
}
