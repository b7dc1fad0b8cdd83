/// A text that others wrote, as a key: compared byte by byte, as PostgreSQL compares it.
///
/// Swift's `==` takes two texts for one that differ in their normal form only, such as `é` written as one character and as two.
package struct ExactText: Hashable, Comparable, Sendable {
    /// The text.
    package let text: String

    /// Takes a text.
    package init(_ text: String) {
        self.text = text
    }

    package static func == (left: ExactText, right: ExactText) -> Bool { left.text.isExactly(right.text) }

    package static func < (left: ExactText, right: ExactText) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    /// Texts of the same bytes have the same hash; so do those that differ in their normal form, which ``==(_:_:)`` tells apart.
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
    /// Whether another text has the same bytes.
    package func isExactly(_ other: String) -> Bool {
        // The first is soon known for most that differ.
        self == other && utf8.elementsEqual(other.utf8)
    }
}
