internal import Foundation
package import Mustache

/// The context of a template: the stored properties by name.
///
/// A property that is nil is absent, and the enclosing contexts are not searched for one of the same name, as the
/// library would do otherwise.
package protocol ViewContext: MustacheParent, Sendable {}

extension ViewContext {
    package func child(named name: String) -> Any? {
        guard let child = Mirror(reflecting: self).children.first(where: { $0.label == name }) else { return nil }
        let value = Mirror(reflecting: child.value)
        guard value.displayStyle == .optional else { return child.value }
        return value.children.first?.value ?? NSNull()
    }
}
