/// A jsonpath of member and element accessors only (`$.customer_id`, `$.order."buyer id"`, `$.teams[*].lead`), which can
/// be followed without PostgreSQL.
///
/// Superseding needs to know at every stage whom an event is for; for `users` and `tokens` that takes such a path.
struct MemberPath: Equatable, Sendable {
    private enum Step: Equatable, Sendable {
        case member(String)
        case elements
    }

    private let steps: [Step]

    /// Reads a path.
    ///
    /// - Parameter text: a jsonpath; nil if it has anything but accessors of members and of all elements.
    init?(_ text: String) {
        var rest = text.drop { $0 == " " }
        while rest.last == " " { rest.removeLast() }
        guard rest.popFirst() == "$" else { return nil }
        var steps: [Step] = []
        while !rest.isEmpty {
            if rest.hasPrefix("[*]") {
                rest = rest.dropFirst(3)
                steps.append(.elements)
                continue
            }
            guard rest.popFirst() == ".", let name = Self.name(&rest) else { return nil }
            steps.append(.member(name))
        }
        self.steps = steps
    }

    /// Follows the path as jsonpath's lax mode does: arrays on the way are unwrapped, what is absent is nothing.
    ///
    /// - Parameter value: where it starts.
    /// - Returns: what it finds.
    func values(in value: JSONValue) -> [JSONValue] {
        steps.reduce([value]) { found, step in
            found.flatMap { value -> [JSONValue] in
                switch step {
                case .elements: value.arrayValue ?? [value]
                case .member(let name): (value.arrayValue ?? [value]).compactMap { $0[name] }
                }
            }
        }
    }

    private static func name(_ rest: inout Substring) -> String? {
        if rest.first == "\"" {
            rest.removeFirst()
            guard let end = rest.firstIndex(of: "\""), !rest[..<end].contains("\\") else { return nil }
            defer { rest = rest[rest.index(after: end)...] }
            return String(rest[..<end])
        }
        let name = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        guard !name.isEmpty else { return nil }
        rest = rest.dropFirst(name.count)
        return String(name)
    }
}
