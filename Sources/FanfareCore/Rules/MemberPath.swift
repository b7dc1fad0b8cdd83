/// A jsonpath of member and element accessors only (`$.customer_id`, `$.order."buyer id"`, `$.teams[*].lead`), which
/// can be evaluated without PostgreSQL.
///
/// Superseding needs the users of an event at every stage; for `users` and `tokens` that requires such a path.
struct MemberPath: Equatable, Sendable {
    private enum Step: Equatable, Sendable {
        case member(String)
        case elements
    }

    private let steps: [Step]

    /// Parses a path.
    ///
    /// - Parameter text: a jsonpath; nil if it contains anything except accessors of members and of all elements.
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

    /// The members, from the outermost; nil if the path accesses elements, or is `$` itself.
    var names: [String]? {
        let names = steps.compactMap { if case .member(let name) = $0 { name } else { nil } }
        return names.count == steps.count && !names.isEmpty ? names : nil
    }

    /// Evaluates the path in jsonpath's lax mode: arrays on the way are unwrapped, and missing members are skipped.
    ///
    /// - Parameter value: the root.
    /// - Returns: the values found.
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
