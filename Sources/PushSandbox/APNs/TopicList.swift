/// The topics in a client certificate: a sequence of topics, each followed by the sequence of its kinds.
struct TopicList {
    let topics: [(topic: String, kinds: [String])]

    init(topics: [(topic: String, kinds: [String])]) { self.topics = topics }

    /// Reads the extension; nil if it is something else.
    init?(_ der: [UInt8]) {
        var outside = DERReader(der[...])
        guard let list = outside.next(.sequence), outside.isAtEnd else { return nil }
        var reader = DERReader(list)
        var topics: [(topic: String, kinds: [String])] = []
        while !reader.isAtEnd {
            guard let topic = reader.next(.utf8String), let list = reader.next(.sequence) else { return nil }
            var kinds: [String] = []
            var inside = DERReader(list)
            while !inside.isAtEnd {
                guard let kind = inside.next(.utf8String) else { return nil }
                kinds.append(String(decoding: kind, as: UTF8.self))
            }
            topics.append((topic: String(decoding: topic, as: UTF8.self), kinds: kinds))
        }
        self.topics = topics
    }

    /// The extension in DER.
    var der: [UInt8] {
        DERTag.sequence.node(
            topics.flatMap { topic, kinds in
                DERTag.utf8String.node(topic.utf8)
                    + DERTag.sequence.node(kinds.flatMap { DERTag.utf8String.node($0.utf8) })
            }
        )
    }
}

/// The tags of DER nodes (X.690).
private enum DERTag: UInt8 {
    case utf8String = 0x0C
    case sequence = 0x30

    /// Encodes a node of less than 65,536 bytes.
    func node(_ content: some Collection<UInt8>) -> [UInt8] {
        let count = content.count
        let bytes = [UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
        let length: [UInt8] =
            switch count {
            case ..<0x80: [bytes[1]]
            case ..<0x100: [0x81, bytes[1]]
            default: [0x82] + bytes
            }
        return [rawValue] + length + content
    }
}

/// Reads consecutive DER nodes of less than 65,536 bytes each.
private struct DERReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    /// Returns the content of the next node; nil if its tag differs, it is cut off, or its length is encoded in more
    /// bytes than needed.
    mutating func next(_ tag: DERTag) -> ArraySlice<UInt8>? {
        guard rest.popFirst() == tag.rawValue, let first = rest.popFirst() else { return nil }
        var count = Int(first)
        if first >= 0x80 {
            let digits = rest.prefix(Int(first & 0x7F))
            guard digits.count == Int(first & 0x7F), (1...2).contains(digits.count), digits.first != 0 else {
                return nil
            }
            count = digits.reduce(0) { $0 << 8 | Int($1) }
            guard count >= 0x80 else { return nil }
            rest.removeFirst(digits.count)
        }
        guard rest.count >= count else { return nil }
        defer { rest.removeFirst(count) }
        return rest.prefix(count)
    }
}
