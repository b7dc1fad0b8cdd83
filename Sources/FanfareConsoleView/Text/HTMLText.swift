internal import Mustache

/// Escaped text for HTML and SVG, between tags and inside quoted attributes.
enum HTMLText {
    /// Escapes text byte by byte.
    ///
    /// The library's own escaping works by `Character`, and so does not escape a quotation mark followed by a combining
    /// mark, which is enough to end an attribute. Controls that HTML forbids become U+FFFD.
    ///
    /// - Parameter text: any text.
    /// - Returns: HTML that displays the text as it is.
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

/// The content type that makes the console's templates escape their values.
struct ConsoleContent: MustacheContentType {
    /// The name by which templates select it.
    static let name = "CONSOLE"

    func escapeText(_ text: String) -> String { HTMLText.escaped(text) }
}

/// HTML or SVG that this program wrote: the only values that templates do not escape.
package struct Markup: ViewContext, Equatable {
    let text: String

    /// Empty markup.
    package static let none = Markup(text: "")
}
