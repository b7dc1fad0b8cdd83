/// Devices of one test, numbered from 1, and a rule that pushes all of them at each of its events.
struct Audience: Sendable {
    /// How many characters of a token are the audience's.
    static let prefixLength = 12

    /// Name of the event type, the rule and the topic.
    let name: String
    /// The beginning of all its tokens, twelve hexadecimal digits.
    let number: UInt64
    let devices: Int
    let provider: String

    /// Beginning of all its tokens.
    var prefix: String { String(number, radix: 16) }

    /// What a device's provider does to it, as tests want it: 0 to 255, the digits of its token after the audience's.
    ///
    /// Neighbours are of different kinds: were those that fail in a row, they would look like a provider that fails.
    static func kind(of device: Int) -> Int { device * 167 % 256 }

    /// The token of a device.
    func token(of device: Int) -> String {
        prefix + Self.digits(Self.kind(of: device), 2) + separator + Self.digits(device, digitCount)
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: count - digits.count) + digits
    }

    /// The token of a device as SQL.
    ///
    /// - Parameter device: its number as SQL.
    func tokenOfDevice(_ device: String) -> String {
        "'\(prefix)' || lpad(to_hex(\(device) * 167 % 256), 2, '0') || '\(separator)' || "
            + "lpad(to_hex(\(device)), \(digitCount), '0')"
    }

    /// The number of a device as SQL.
    ///
    /// - Parameter token: its token as SQL.
    static func deviceNumber(_ token: String) -> String {
        "('x' || right(\(token), 8))::bit(32)::int"
    }

    // FCM's tokens are longer than Apple's and hold a colon; the sandbox wants no more than that of them.
    private var separator: String { provider == "fcm" ? ":" : "" }
    private var digitCount: Int { provider == "fcm" ? 140 : 50 }
}
