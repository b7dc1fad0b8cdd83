/// Writes JSON as bytes; several times faster than `JSONEncoder`, which would be most of the ledger's cost.
struct JSONLine {
    private(set) var bytes: [UInt8] = []

    init(reservingCapacity capacity: Int = 0) {
        bytes.reserveCapacity(capacity)
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
    }

    mutating func append(raw text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    mutating func append(integer: some BinaryInteger) {
        bytes.append(contentsOf: String(integer).utf8)
    }

    /// Appends a quoted string; every `String` is valid UTF-8.
    mutating func append(string: String) {
        append(escaping: string.utf8)
    }

    mutating func append(escaping text: some Sequence<UInt8>) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text {
            append(escaped: byte)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func append(escaped byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(byte)
        case 0x20...:
            bytes.append(byte)
        case UInt8(ascii: "\n"):
            bytes.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "n")])
        default:
            bytes.append(contentsOf: "\\u00".utf8)
            bytes.append(Self.hex[Int(byte >> 4)])
            bytes.append(Self.hex[Int(byte & 15)])
        }
    }

    private static let hex = Array("0123456789abcdef".utf8)
}
