internal import Mustache

/// Text as HTML and SVG may hold it, between tags and inside quoted attributes.
enum HTMLText {
    /// Escapes by bytes.
    ///
    /// The library's own escaping goes by `Character`, and so leaves a quotation mark alone that a combining mark follows: enough to end an
    /// attribute. Controls that HTML forbids become U+FFFD.
    ///
    /// - Parameter text: from anybody.
    /// - Returns: what shows it as it is.
    static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 16)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): bytes += "&amp;".utf8
            case UInt8(ascii: "<"): bytes += "&lt;".utf8
            case UInt8(ascii: ">"): bytes += "&gt;".utf8
            case UInt8(ascii: "\""): bytes += "&quot;".utf8
            case UInt8(ascii: "'"): bytes += "&#39;".utf8
            case 0..<9, 11, 12, 14..<32, 127: bytes += "\u{FFFD}".utf8
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// How templates of the console escape what they are given.
struct ConsoleContent: MustacheContentType {
    /// By which templates ask for it.
    static let name = "CONSOLE"

    func escapeText(_ text: String) -> String { HTMLText.escaped(text) }
}

/// HTML or SVG that this program wrote: the only thing that templates take without escaping.
struct Markup: ViewContext, Equatable {
    let text: String

    /// Nothing.
    static let none = Markup(text: "")
}
