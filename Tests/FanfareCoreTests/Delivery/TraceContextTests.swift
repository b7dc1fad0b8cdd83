import FanfareCore
import Testing

struct TraceContextTests {
    private static let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    @Test func whatIsReadIsWrittenAgain() throws {
        let trace = try #require(TraceContext(traceparent: Self.text))
        #expect(trace.traceID == "0af7651916cd43dd8448eb211c80319c" && trace.flags == 1)
        #expect(trace.traceparent == Self.text)
        #expect(TraceContext(hexadecimal: "0af7651916cd43dd8448eb211c80319cb7ad6b716920333101") == trace)
        let small = try #require(
            TraceContext(stored: Array(repeating: 0, count: 15) + [9] + Array(repeating: 1, count: 8) + [0])
        )
        #expect(small.traceID == "00000000000000000000000000000009" && small.parentID == 0x0101_0101_0101_0101)
    }

    /// The trace continues with a new span; only known flags are passed on.
    @Test func aRequestHasASpanOfItsOwn() throws {
        let trace = try #require(TraceContext(traceparent: Self.text.dropLast(2) + "ff"))
        #expect(trace.traceparent(from: 0xAB) == "00-0af7651916cd43dd8448eb211c80319c-00000000000000ab-03")
        let unsampled = try #require(TraceContext(traceparent: Self.text.dropLast(2) + "00"))
        #expect(unsampled.traceparent(from: .max) == "00-0af7651916cd43dd8448eb211c80319c-ffffffffffffffff-00")
    }

    @Test func whatTheDatabaseCannotHaveIsNone() {
        #expect(TraceContext(stored: []) == nil && TraceContext(stored: Array(repeating: 1, count: 24)) == nil)
        #expect(TraceContext(stored: Array(repeating: 0, count: 25)) == nil)
        #expect(TraceContext(hexadecimal: String(repeating: "A", count: 50)) == nil)
    }
}
