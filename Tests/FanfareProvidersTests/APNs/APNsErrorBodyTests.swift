import FanfareCore
import Testing

@testable import FanfareProviders

struct APNsErrorBodyTests {
    private func parse(_ text: String) -> APNsErrorBody { APNsErrorBody(parsing: Array(text.utf8)) }

    @Test func reasonAndTimestampAreRead() {
        let body = parse(#"{"reason":"Unregistered","timestamp":1789999000123}"#)
        #expect(body == APNsErrorBody(reason: "Unregistered", timestampMilliseconds: 1_789_999_000_123))
    }

    /// With an added space, the same body takes the slow path.
    @Test(arguments: [
        #"{"reason":"Unregistered"}"#, #"{"reason":"ExpiredToken","timestamp":1789999000123}"#,
        #"{"reason":"Shutdown","timestamp":1}"#, #"{"reason":"X","timestamp":0}"#, #"{"reason":"X","timestamp":007}"#,
        #"{"reason":"X","timestamp":999999999999999999}"#, #"{"reason":"X","timestamp":9999999999999999999}"#,
        #"{"reason":"","timestamp":5}"#, #"{"reason":"X","timestamp":}"#, #"{"reason":"X","timestamp":5,"more":1}"#,
        #"{"reason":"X"}}"#, #"{"reason":"X"#, #"{"reason":"X@y"}"#, #"{"reason":"X","timestamp":5e3}"#,
        "{\"reason\":\"\(String(repeating: "A", count: 64))\"}",
        "{\"reason\":\"\(String(repeating: "A", count: 65))\"}",
    ])
    func compactAndSpacedBodiesReadAlike(text: String) {
        #expect(parse(text) == parse(" " + text))
    }

    @Test(arguments: [
        "", " ", "{}", "[]", "null", "42", "\"Unregistered\"", "{\"reason\":",
        "<html><body>502 Bad Gateway</body></html>",
        "{\"reason\":null}", "{\"reason\":7,\"timestamp\":\"x\"}", "{\"timestamp\":1e400}", "{\"reason\":\"\"}",
        String(repeating: "[", count: 4096), String(repeating: "{\"reason\":", count: 400),
    ])
    func aBodyThatSaysNothingIsEmpty(text: String) {
        #expect(parse(text) == APNsErrorBody())
    }

    @Test func bytesThatAreNoUTF8AreEmpty() {
        #expect(APNsErrorBody(parsing: [0xff, 0xfe, 0x00]) == APNsErrorBody())
    }

    @Test func aFieldOfAnUnexpectedTypeDoesNotHideTheOther() {
        #expect(parse(#"{"reason":["x"],"timestamp":5}"#) == APNsErrorBody(timestampMilliseconds: 5))
        let odd = parse(#"{"reason":"Unregistered","timestamp":"soon"}"#)
        #expect(odd == APNsErrorBody(reason: "Unregistered"))
    }

    @Test(arguments: [("1789999000123.0", 1_789_999_000_123), ("-1", -1), ("0.4", 0)])
    func unusualNumbersAreRead(number: String, value: Int64) {
        #expect(parse(#"{"timestamp":\#(number)}"#).timestampMilliseconds == value)
    }

    @Test(arguments: ["1e300", "99999999999999999999", "true"])
    func numbersThatAreNoTimeAreLeftOut(number: String) {
        #expect(parse(#"{"timestamp":\#(number)}"#).timestampMilliseconds == nil)
    }

    @Test func anOversizedBodyIsNotLookedAt() {
        let body = #"{"reason":"Shutdown","padding":"\#(String(repeating: "x", count: 5000))"}"#
        #expect(parse(body) == APNsErrorBody())
    }

    @Test func unknownReasonIsCutAndLoggable() {
        let long = parse(#"{"reason":"\#(String(repeating: "A", count: 500))"}"#)
        #expect(long.reason?.count == APNsErrorBody.maximumReasonLength)
        #expect(parse(#"{"reason":"a\nb\u001b[31m\u202ec"}"#).reason == "ab[31mc")
    }

    @Test(arguments: 0..<50)
    func garbageNeverCrashes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var bytes = Array(#"{"reason":"Unregistered","timestamp":1789999000123}"#.utf8)
        for _ in 0..<Int.random(in: 1...8, using: &random) {
            bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        let body = APNsErrorBody(parsing: bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
        #expect((body.reason?.unicodeScalars.count ?? 0) <= APNsErrorBody.maximumReasonLength)
    }
}
