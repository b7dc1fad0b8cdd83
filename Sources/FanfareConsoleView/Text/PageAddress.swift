/// An address of the console: a path and its query, sorted by name so that the same view has the same address.
package struct PageAddress: Sendable {
    /// The text of the address.
    package let text: String

    /// Creates an address.
    ///
    /// - Parameters:
    ///   - path: the path, encoded.
    ///   - query: the parameters by name, not encoded.
    package init(_ path: String, _ query: [String: String] = [:]) {
        let pairs = query.sorted { $0.key < $1.key }.map { "\(Self.encoded($0.key))=\(Self.encoded($0.value))" }
        text = pairs.isEmpty ? path : "\(path)?\(pairs.joined(separator: "&"))"
    }

    /// Encodes text for a path or a query (RFC 3986 section 2.3: all characters but unreserved ones).
    ///
    /// - Parameter text: the text.
    /// - Returns: the encoded text.
    package static func encoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default:
                let digits = Array("0123456789ABCDEF".utf8)
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
