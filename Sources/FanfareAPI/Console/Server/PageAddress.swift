/// An address of the console: a path and its query, in the order of the names, so that the same view has the same address.
struct PageAddress: Sendable {
    /// As it stands in a link.
    let text: String

    /// Writes one.
    ///
    /// - Parameters:
    ///   - path: as it is sent.
    ///   - query: by name; not encoded.
    init(_ path: String, _ query: [String: String] = [:]) {
        let pairs = query.sorted { $0.key < $1.key }.map { "\(Self.encoded($0.key))=\(Self.encoded($0.value))" }
        text = pairs.isEmpty ? path : "\(path)?\(pairs.joined(separator: "&"))"
    }

    /// Text as part of a path or a query (RFC 3986 section 2.3: all but unreserved characters is encoded).
    ///
    /// - Parameter text: any.
    /// - Returns: what stands in an address.
    static func encoded(_ text: String) -> String {
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
