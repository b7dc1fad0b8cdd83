internal import FanfareCore
internal import PostgresClient

/// A jsonpath of a rule, which only PostgreSQL can read.
package struct RulePath: Equatable {
    /// What is put behind an audience's path: one that finds an array means its elements; in lax mode it also takes a single
    /// value.
    package static let elements = "[*]"

    package let place: String
    package let text: String
    package let isPredicate: Bool

    package init(place: String, text: String, isPredicate: Bool) {
        self.place = place
        self.text = text
        self.isPredicate = isPredicate
    }
}
