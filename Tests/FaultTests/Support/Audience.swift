/// Devices of one test, numbered from 1, and a rule that pushes all of them at each of its events.
struct Audience: Sendable {
    /// How many characters of a token are the audience's.
    static let prefixLength = 12

    /// Name of the event type, the rule and the topic.
    let name: String
    /// The beginning of all its tokens, twelve hexadecimal digits.
    let number: UInt64
    let devices: Int
    let platform: String

    /// Beginning of all its tokens.
    var prefix: String { String(number, radix: 16) }

    /// The token of a device.
    func token(of device: Int) -> String {
        let digits = String(device, radix: 16)
        return prefix + separator + String(repeating: "0", count: digitCount - digits.count) + digits
    }

    /// The token of a device as SQL.
    ///
    /// - Parameter device: its number as SQL.
    func tokenOfDevice(_ device: String) -> String {
        "'\(prefix)\(separator)' || lpad(to_hex(\(device)), \(digitCount), '0')"
    }

    /// The number of a device as SQL.
    ///
    /// - Parameter token: its token as SQL.
    static func deviceNumber(_ token: String) -> String {
        "('x' || right(\(token), 8))::bit(32)::int"
    }

    // FCM's tokens are longer than Apple's and hold a colon; the sandbox wants no more than that of them.
    private var separator: String { platform == "fcm" ? ":" : "" }
    private var digitCount: Int { platform == "fcm" ? 140 : 52 }
}
