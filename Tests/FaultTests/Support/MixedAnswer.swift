/// The simulated provider's response to some of the devices, by their kind.
struct MixedAnswer: Sendable {
    private let kinds: ClosedRange<Int>
    /// The members of the fault.
    private let fault: String
    /// Whether the response reports the token as unregistered.
    var disables = false
    /// Whether the push reaches the device in the end.
    var arrives = true
    /// Whether the provider processes the push twice.
    var repeats = false

    /// All responses; their shares stay below those at which the prune fuse blows, and the retries within their budget.
    static let all = [
        Self(
            kinds: 0x00...0x00,
            fault: #""do": "status", "reason": "BadDeviceToken""#,
            disables: true,
            arrives: false
        ),
        Self(kinds: 0x01...0x01, fault: #""environment": "production", "do": "status", "reason": "BadDeviceToken""#),
        Self(kinds: 0x02...0x04, fault: #""do": "status", "reason": "Unregistered""#, disables: true, arrives: false),
        Self(
            kinds: 0x05...0x06,
            fault: #""do": "status", "reason": "Unregistered", "timestamp_ms": null"#,
            disables: true,
            arrives: false
        ),
        Self(
            kinds: 0x07...0x07,
            fault: #""do": "status", "status": 410, "reason": "BrandNewReason""#,
            disables: true,
            arrives: false
        ),
        Self(
            kinds: 0x08...0x0a,
            fault: #""do": "status", "reason": "Unregistered", "timestamp_age_ms": 86400000"#,
            arrives: false
        ),
        // A reason about tokens with another status is no evidence for pruning.
        Self(
            kinds: 0x0b...0x0b,
            fault: #""do": "status", "status": 400, "reason": "Unregistered""#,
            arrives: false
        ),
        Self(
            kinds: 0x0c...0x0c,
            fault: #""do": "status", "status": 410, "reason": "BadDeviceToken""#,
            arrives: false
        ),
        Self(kinds: 0x0d...0x0d, fault: #""do": "status", "reason": "DeviceTokenNotForTopic""#, arrives: false),
        Self(kinds: 0x0e...0x0e, fault: #""do": "status", "status": 400, "reason": "BrandNewReason""#, arrives: false),
        Self(kinds: 0x10...0x12, fault: #""do": "status", "reason": "TooManyRequests", "times": 1"#),
        Self(kinds: 0x13...0x15, fault: #""do": "status", "reason": "InternalServerError", "times": 1"#),
        Self(kinds: 0x16...0x18, fault: #""do": "status", "reason": "ServiceUnavailable", "times": 1"#),
        Self(kinds: 0x19...0x1b, fault: #""do": "status", "status": 502, "body": "<html>Bad Gateway", "times": 1"#),
        Self(kinds: 0x1c...0x1d, fault: #""do": "reset", "code": "INTERNAL_ERROR", "times": 1"#, repeats: true),
        Self(kinds: 0x1e...0x1e, fault: #""do": "refuse", "times": 1"#),
    ]

    /// All faults in the sandbox's format.
    static var faults: String {
        let entries = all.map { answer in
            let digits = answer.kinds.map { String($0 + 0x100, radix: 16).dropFirst() }.joined(separator: "|")
            return #"{"match": {"token": "^.{\#(Audience.prefixLength)}(\#(digits))"}, \#(answer.fault)}"#
        }
        return "[" + entries.joined(separator: ", ") + "]"
    }

    /// Returns the devices, numbered from 1, that get such a response.
    static func devices(upTo count: Int, where isMeant: (MixedAnswer) -> Bool) -> Set<Int> {
        let meant = all.filter(isMeant)
        return Set((1...count).filter { device in meant.contains { $0.kinds.contains(Audience.kind(of: device)) } })
    }
}
