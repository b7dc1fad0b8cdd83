/// The elements of a page, parsed byte by byte as a browser does, and as strictly as the console writes them: wrongly
/// escaped text is reported.
struct HTMLScan {
    struct Element {
        let name: String
        var attributes: [(name: String, value: String)] = []
        /// The names of the enclosing elements.
        let within: [String]

        subscript(_ name: String) -> String? { attributes.first { $0.name == name }?.value }
    }

    /// The elements in the order of their opening tags.
    private(set) var elements: [Element] = []
    /// The text between the tags.
    private(set) var text = ""
    /// Markup that is not well-formed.
    private(set) var problems: [String] = []

    private static let childless: Set<String> = ["meta", "link", "input", "br", "img", "hr"]

    private let bytes: [UInt8]
    private var place = 0

    init(_ html: String) {
        bytes = Array(html.utf8)
        var open: [String] = []
        while place < bytes.count {
            text += Self.decoded(take { $0 != UInt8(ascii: "<") })
            guard place < bytes.count else { break }
            place += 1
            if skip("!doctype html>") { continue }
            if skip("/") {
                let name = takeName()
                if open.popLast() != name { problems.append("</\(name)> closes something else") }
                if !skip(">") { problems.append("</\(name) does not end") }
                continue
            }
            var element = Element(name: takeName(), within: open)
            guard !element.name.isEmpty, takeAttributes(of: &element) else {
                problems.append(
                    "no tag: \(String(decoding: bytes[max(0, place - 60)..<min(place + 20, bytes.count)], as: UTF8.self))"
                )
                continue
            }
            let isClosed = skip("/>")
            if !isClosed, !skip(">") { problems.append("<\(element.name) does not end") }
            elements.append(element)
            if !isClosed, !Self.childless.contains(element.name) { open.append(element.name) }
        }
        if !open.isEmpty { problems.append("not closed: \(open)") }
    }

    /// Reads `name` or `name="value"`, each after white space.
    private mutating func takeAttributes(of element: inout Element) -> Bool {
        while true {
            let space = take { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
            if place < bytes.count, [UInt8(ascii: ">"), UInt8(ascii: "/")].contains(bytes[place]) { return true }
            let name = takeName()
            guard !space.isEmpty, !name.isEmpty else { return false }
            guard skip("=") else {
                element.attributes.append((name, ""))
                continue
            }
            guard skip("\"") else { return false }
            let value = take { $0 != UInt8(ascii: "\"") }
            guard skip("\""), !value.contains(UInt8(ascii: "<")) else { return false }
            element.attributes.append((name, Self.decoded(value)))
        }
    }

    private mutating func takeName() -> String {
        let name = take { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: ":"): true
            default: false
            }
        }
        return String(decoding: name, as: UTF8.self)
    }

    private mutating func take(_ isMeant: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = place
        while place < bytes.count, isMeant(bytes[place]) { place += 1 }
        return bytes[start..<place]
    }

    private mutating func skip(_ text: StaticString) -> Bool {
        let expected = Array("\(text)".utf8)
        guard bytes[place...].starts(with: expected) else { return false }
        place += expected.count
        return true
    }

    private static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        guard bytes.contains(UInt8(ascii: "&")) else { return text }
        return [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
            .reduce(text) { $0.replacing($1.0, with: $1.1) }
    }
}

extension HTMLScan {
    /// Returns the addresses of links whose path has a prefix.
    func links(_ prefix: String) -> [String] {
        elements.compactMap { $0.name == "a" ? $0["href"] : nil }.filter { $0.hasPrefix(prefix) }
    }

    /// The address of a list's link to its next part; nil for none.
    var next: String? { elements.first { $0.name == "a" && $0["rel"] == "next" }?["href"] }
}
