internal import Foundation
internal import Mustache

/// What a template is rendered with: its stored properties by their names.
///
/// A property that is nil is absent. The library would go on and take one of the same name from what the value lies in.
protocol ViewContext: MustacheParent, Sendable {}

extension ViewContext {
    func child(named name: String) -> Any? {
        guard let child = Mirror(reflecting: self).children.first(where: { $0.label == name }) else { return nil }
        let value = Mirror(reflecting: child.value)
        guard value.displayStyle == .optional else { return child.value }
        return value.children.first?.value ?? NSNull()
    }
}
