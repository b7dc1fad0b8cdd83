/// A push, identified by its batch and position.
package struct BatchPosition: Hashable, Sendable {
    package let batch: Int64
    package let position: Int32
}
