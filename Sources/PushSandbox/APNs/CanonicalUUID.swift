import Foundation

/// The 8-4-4-4-12 text form of a UUID (RFC 9562 section 4).
enum CanonicalUUID {
    static func isValid(_ text: String) -> Bool {
        var position = 0
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "-"):
                guard position == 8 || position == 13 || position == 18 || position == 23 else { return false }
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                UInt8(ascii: "A")...UInt8(ascii: "F"):
                guard position != 8 && position != 13 && position != 18 && position != 23 else { return false }
            default: return false
            }
            position += 1
        }
        return position == 36
    }

    /// Returns a new random UUID in lower case.
    static func random() -> String {
        UUID().uuidString.lowercased()
    }
}
