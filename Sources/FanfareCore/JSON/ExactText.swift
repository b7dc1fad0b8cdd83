/// A text from outside, as a key: compared byte by byte, like in PostgreSQL.
///
/// Swift's `==` treats texts with different Unicode normalization as equal, such as `é` as one character and as two.
package struct ExactText: Hashable, Comparable, Sendable {
    /// The text.
    package let text: String

    /// Makes a key.
    package init(_ text: String) {
        self.text = text
    }

    package static func == (left: ExactText, right: ExactText) -> Bool { left.text.isExactly(right.text) }

    package static func < (left: ExactText, right: ExactText) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    /// Hashes the text; texts that differ only in their normalization share a hash, and ``==(_:_:)`` distinguishes
    /// them.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(text)
    }
}

extension ExactText: ExpressibleByStringLiteral {
    package init(stringLiteral value: String) {
        self.init(value)
    }
}

extension String {
    /// Returns whether another text has the same bytes.
    package func isExactly(_ other: String) -> Bool {
        // `==` is tested first, because it is fast for most texts that differ.
        self == other && utf8.elementsEqual(other.utf8)
    }
}
