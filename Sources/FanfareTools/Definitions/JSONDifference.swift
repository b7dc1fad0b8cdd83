public import FanfareCore

/// A path at which two JSON values differ.
public struct JSONDifference: Sendable, Equatable {
    /// Keys and indices from the root.
    public let path: String
    /// The value before; nil if there was none.
    public let old: JSONValue?
    /// The value after; nil if there is none.
    public let new: JSONValue?

    /// Finds the differences of two values: objects member by member, arrays element by element.
    ///
    /// - Parameters:
    ///   - old: the value before.
    ///   - new: the value after.
    /// - Returns: the innermost differences, in the order of `new`, then the removed members.
    static func between(_ old: JSONValue, _ new: JSONValue) -> [JSONDifference] {
        between(old, new, path: "")
    }

    private static func between(_ old: JSONValue, _ new: JSONValue, path: String) -> [JSONDifference] {
        guard old != new else { return [] }
        switch (old, new) {
        case (.object(let old), .object(let new)):
            let gone = old.keys.filter { new[$0] == nil }
            return (new.keys + gone).flatMap { key in
                member(old[key], new[key], path: path.isEmpty ? key : "\(path).\(key)")
            }
        case (.array(let old), .array(let new)) where old.count == new.count:
            return zip(old, new).enumerated().flatMap { index, pair in
                between(pair.0, pair.1, path: "\(path)[\(index)]")
            }
        default: return [JSONDifference(path: path, old: old, new: new)]
        }
    }

    private static func member(_ old: JSONValue?, _ new: JSONValue?, path: String) -> [JSONDifference] {
        guard let old, let new else {
            return old == nil && new == nil ? [] : [JSONDifference(path: path, old: old, new: new)]
        }
        return between(old, new, path: path)
    }

    /// `path`, `old` and `new`; a value that does not exist is omitted.
    var json: JSONValue {
        var object = JSONObject()
        object["path"] = .string(path)
        object["old"] = old
        object["new"] = new
        return .object(object)
    }
}
