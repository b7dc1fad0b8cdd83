/// Values for the Web Push field `Topic`: up to 32 characters of the URL-safe base64 alphabet (RFC 8030 section 5.4).
///
/// The field is not encrypted, so a collapse id is sent as a hash, which prevents reading but not guessing.
package enum WebPushTopic {
    /// The maximum length of a topic.
    package static let lengthLimit = 32

    /// Returns whether a value can be sent as a topic to every service.
    package static func isValid(_ value: String) -> Bool {
        let bytes = value.utf8
        return (1...lengthLimit).contains(bytes.count) && bytes.allSatisfy { alphabet.contains($0) }
            && hasWholeBytes(bytes.count)
    }

    /// Returns whether base64url can have that many characters: Apple decodes topics, and refuses other lengths.
    package static func hasWholeBytes(_ count: Int) -> Bool { count % 4 != 1 }

    /// Returns the topic of a collapse id: the first 24 bytes of a SHA-256 hash over app and id, in base64url.
    ///
    /// - Parameters:
    ///   - collapse: the rendered collapse id.
    ///   - app: the app, so that the same id in two apps has different hashes.
    /// - Returns: 32 characters, the same for the same id.
    package static func hash(collapse: String, app: String) -> String {
        // The length prefix distinguishes ("ab", "c") from ("a", "bc").
        let digest = SHA256.hash(Array("\(app.utf8.count):\(app)\(collapse)".utf8))
        var text: [UInt8] = []
        for start in stride(from: 0, to: 24, by: 3) {
            let group = digest[start..<start + 3].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            for shift in [18, 12, 6, 0] { text.append(alphabet[Int(group >> UInt32(shift) & 63)]) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
}
