/// The devices of one test, numbered from 1, and a rule that pushes to all of them at each of its events.
struct Audience: Sendable {
    /// The number of characters of a token that identify the audience.
    static let prefixLength = 12

    /// The name of the event type, the rule and the topic.
    let name: String
    /// The prefix of all its tokens as a number: twelve hexadecimal digits.
    let number: UInt64
    let devices: Int
    let provider: String

    /// The prefix of all its tokens.
    var prefix: String { String(number, radix: 16) }

    /// Returns the kind of a device, from 0 to 255, by which faults select devices: the digits of its token after the
    /// audience's prefix.
    ///
    /// Neighbours have different kinds: several failures in a row would look like an outage of the provider.
    static func kind(of device: Int) -> Int { device * 167 % 256 }

    /// Returns the token of a device.
    func token(of device: Int) -> String {
        prefix + Self.digits(Self.kind(of: device), 2) + separator + Self.digits(device, digitCount)
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: count - digits.count) + digits
    }

    /// Returns SQL for the token of a device.
    ///
    /// - Parameter device: the device's number as SQL.
    func tokenOfDevice(_ device: String) -> String {
        "'\(prefix)' || lpad(to_hex(\(device) * 167 % 256), 2, '0') || '\(separator)' || "
            + "lpad(to_hex(\(device)), \(digitCount), '0')"
    }

    /// Returns SQL for the number of a device.
    ///
    /// - Parameter token: the device's token as SQL.
    static func deviceNumber(_ token: String) -> String {
        "('x' || right(\(token), 8))::bit(32)::int"
    }

    // FCM's tokens are longer than Apple's and contain a colon; the sandbox requires no more.
    private var separator: String { provider == "fcm" ? ":" : "" }
    private var digitCount: Int { provider == "fcm" ? 140 : 50 }
}
