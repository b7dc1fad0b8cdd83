internal import FanfareCore
internal import PostgresClient

/// A jsonpath of a rule, which only PostgreSQL can parse.
package struct RulePath: Equatable {
    /// The suffix of an audience's path: a path that finds an array means its elements; in lax mode it also accepts a
    /// single value.
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
