import FanfareCore
import Testing

@testable import FanfareProviders

/// A generator with the same numbers for the same seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }
}

/// Parses JSON that is known to be well formed.
func json(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> JSONValue {
    do {
        return try JSONValue(parsing: text)
    } catch {
        Issue.record("\(error)", sourceLocation: sourceLocation)
        throw error
    }
}

/// Returns an event with a payload.
func event(_ payload: JSONValue = [:], key: String? = nil, expiration: Int64? = nil) -> RenderContext {
    RenderContext(
        eventID: EventID(day: 2516, sequence: 7),
        eventType: "order.shipped",
        eventKey: key,
        payload: payload.objectValue ?? JSONObject(),
        expiration: expiration
    )
}
