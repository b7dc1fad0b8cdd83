/// Why a text is not valid JSON, with the position.
///
/// Neither `description` nor any property contains text of the document.
public struct JSONSyntaxError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The kind of error.
    public enum Reason: Equatable, Sendable {
        /// The text ended inside a value.
        case unexpectedEnd
        /// A byte that is not allowed at this position.
        case unexpectedByte
        /// Something follows the value.
        case trailingText
        /// A number that RFC 8259 does not allow, such as `01` or `.5`.
        case malformedNumber
        /// A backslash followed by an invalid character.
        case malformedEscape
        /// Half of a UTF-16 surrogate pair.
        case loneSurrogate
        /// A control character inside a string that is not escaped.
        case controlCharacter
        /// The bytes of a string are not UTF-8.
        case invalidUTF8
        /// A key that its object already has.
        case duplicateKey
        /// More levels than allowed.
        case tooDeep(limit: Int)
        /// More bytes than allowed.
        case tooLarge(limit: Int)
    }

    /// The kind of error.
    public let reason: Reason
    /// The line, from 1.
    public let line: Int
    /// The column in bytes, from 1.
    public let column: Int

    /// The error and its position, for logs.
    public var description: String { "\(reasonText) at line \(line), column \(column)" }

    private var reasonText: String {
        switch reason {
        case .unexpectedEnd: "the text ends too early"
        case .unexpectedByte: "unexpected character"
        case .trailingText: "text after the value"
        case .malformedNumber: "malformed number"
        case .malformedEscape: "malformed escape"
        case .loneSurrogate: "half of a surrogate pair"
        case .controlCharacter: "control character in a string"
        case .invalidUTF8: "invalid UTF-8"
        case .duplicateKey: "an object has the same key twice"
        case .tooDeep(let limit): "more than \(limit) levels"
        case .tooLarge(let limit): "more than \(limit) bytes"
        }
    }
}

/// The limits of a JSON text.
public struct JSONLimits: Sendable {
    /// The maximum size in bytes.
    public let bytes: Int
    /// The maximum nesting of arrays and objects.
    public let levels: Int

    /// Sets the limits.
    ///
    /// - Parameters:
    ///   - bytes: the maximum size in bytes.
    ///   - levels: the maximum nesting of arrays and objects.
    public init(bytes: Int, levels: Int) {
        self.bytes = bytes
        self.levels = levels
    }

    /// The limits for rules, and for texts of Fanfare itself: 1 MiB, 64 levels.
    public static let document = JSONLimits(bytes: 1 << 20, levels: 64)
}
