/// The topics that a certificate may push to, from Apple's extension 1.2.840.113635.100.6.3.6.
///
/// The extension is a sequence in which each topic is followed by the sequence of its kinds: `"com.example.app",
/// ("app"), "com.example.app.voip", ("voip")`.
enum APNsTopics {
    /// The extension's object identifier.
    static let identifier = "1.2.840.113635.100.6.3.6"

    /// Decodes the extension's content.
    ///
    /// - Parameter der: the content.
    /// - Returns: the topics with their kinds, in order; empty if the content has another form.
    static func decode(_ der: [UInt8]) -> [APNsCertificate.Topic] {
        var topics: [APNsCertificate.Topic] = []
        collect(der[...], depth: 0, into: &topics)
        return topics
    }

    private static func collect(_ der: ArraySlice<UInt8>, depth: Int, into topics: inout [APNsCertificate.Topic]) {
        guard depth < 4 else { return }
        for element in DERElements(der) {
            if let text = element.text {
                topics.append(APNsCertificate.Topic(name: text, kinds: []))
            } else if let kinds = element.texts, let topic = topics.last, topic.kinds.isEmpty, depth > 0 {
                topics[topics.count - 1] = APNsCertificate.Topic(name: topic.name, kinds: kinds)
            } else if element.isContainer {
                collect(element.content, depth: depth + 1, into: &topics)
            }
        }
    }
}

/// One element in Distinguished Encoding Rules (X.690).
struct DERElement {
    /// The tag byte.
    let tag: UInt8
    /// The content bytes.
    let content: ArraySlice<UInt8>

    /// Whether it contains elements: a sequence, a set, or an octet string around one of these.
    var isContainer: Bool { [0x30, 0x31, 0x04].contains(tag) }

    /// The text, if the element is a UTF8String, PrintableString or IA5String.
    var text: String? {
        [0x0C, 0x13, 0x16].contains(tag) ? String(validating: content, as: UTF8.self) : nil
    }

    /// The texts of a sequence that contains only texts.
    var texts: [String]? {
        guard tag == 0x30 else { return nil }
        let elements = Array(DERElements(content))
        let texts = elements.compactMap(\.text)
        return texts.count == elements.count ? texts : nil
    }
}

/// The consecutive elements of some bytes; ends at the first malformed element.
struct DERElements: Sequence, IteratorProtocol {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func next() -> DERElement? {
        guard let tag = rest.popFirst(), tag & 0x1F != 0x1F, let first = rest.popFirst() else { return nil }
        var length = Int(first)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            guard (1...3).contains(count), rest.count >= count else { return nil }
            length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            rest.removeFirst(count)
        }
        guard rest.count >= length else { return nil }
        defer { rest.removeFirst(length) }
        return DERElement(tag: tag, content: rest.prefix(length))
    }
}
