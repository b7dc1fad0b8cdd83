/// A position in a text file.
public struct SourcePosition: Hashable, Sendable, Comparable {
    /// Line, counted from 1.
    public var line: Int
    /// Column in Unicode scalars, counted from 1.
    public var column: Int

    /// Makes a position.
    ///
    /// - Parameters:
    ///   - line: counted from 1.
    ///   - column: in Unicode scalars, counted from 1.
    public init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    /// Orders positions as in the file.
    public static func < (left: SourcePosition, right: SourcePosition) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// A YAML value with its position, and with aliases expanded.
package struct YAMLValue: Sendable {
    /// The type of the value by the core schema of YAML 1.2 (section 10.3).
    package enum Content: Sendable {
        case null
        case bool(Bool)
        /// A number as written; always in JSON's syntax.
        case number(String)
        case string(String)
        case list([YAMLValue])
        case map([YAMLEntry])
    }

    var content: Content
    var position: SourcePosition
    /// The scalar as written, without quotes; empty for lists and maps.
    var text = ""

    /// The name of the value's type, for "expected …, found …"; never the value itself.
    var kind: String {
        switch content {
        case .null: "nothing"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .list: "a list"
        case .map: "a mapping"
        }
    }
}

/// One key of a YAML mapping with its value.
package struct YAMLEntry: Sendable {
    var key: String
    var keyPosition: SourcePosition
    var value: YAMLValue
}

/// Why a YAML text cannot be used, with the position.
struct YAMLProblem: Error, Hashable, Sendable {
    var position: SourcePosition?
    /// Dotted path of the value, as far as known.
    var path = ""
    var reason: String
}
