/// One validated header field.
public struct HeaderField: Hashable, Sendable {
    /// The name in lower case, as HTTP/2 requires.
    public let name: String

    /// The value, without surrounding white space.
    public let value: String

    /// Validates and creates a field.
    ///
    /// - Parameters:
    ///   - name: an RFC 9110 token without capitals.
    ///   - value: any text without control characters and without white space at its ends (RFC 9113 section 8.2.1).
    /// - Throws: ``HeaderError``. A line break in a rendered value must never become another header.
    public init(_ name: String, _ value: String) throws(HeaderError) {
        guard isFieldName(name) else { throw HeaderError(field: name.filter { $0.isLetter || $0 == "-" }, .name) }
        guard isFieldValue(value.utf8) else { throw HeaderError(field: name, .value) }
        self.name = name
        self.value = value
    }
}

/// The method of a request.
public enum RequestMethod: String, Sendable, CaseIterable {
    /// Sends a push, or creates something.
    case post = "POST"
    /// Removes something.
    case delete = "DELETE"
}

/// The method and the header fields that many requests share; immutable.
///
/// A transport may cache its own encoding of a block, so share one block between requests instead of creating equal
/// ones.
public final class HeaderBlock: Sendable {
    /// The method of the requests.
    public let method: RequestMethod

    /// The shared fields, in the order in which they are sent.
    public let fields: [HeaderField]

    /// The name of the field whose value differs in each request (`apns-id`, `topic`), if there is one.
    public let varyingName: String?

    /// Creates a block.
    ///
    /// - Parameters:
    ///   - fields: the shared fields; pseudo-header fields and `content-length` are reserved for the transport.
    ///   - varyingName: the name of the field that each request sets by ``PushRequest/varyingValue``.
    ///   - method: the method of the requests.
    /// - Throws: ``HeaderError`` if a name appears twice, is reserved or is malformed.
    public init(
        _ fields: [HeaderField],
        varyingName: String? = nil,
        method: RequestMethod = .post
    ) throws(HeaderError) {
        var names: Set<String> = ["content-length", "transfer-encoding", "connection", "host", "expect"]
        for name in fields.map(\.name) + (varyingName.map { [$0] } ?? []) {
            guard isFieldName(name) else { throw HeaderError(field: "", .name) }
            guard names.insert(name).inserted else { throw HeaderError(field: name, .repeated) }
        }
        self.fields = fields
        self.varyingName = varyingName
        self.method = method
    }
}

/// The reason why header fields or a request path cannot be sent.
public struct HeaderError: Error, Equatable, CustomStringConvertible {
    /// The kind of problem.
    public enum Reason: Sendable {
        /// The name is not a lower-case token.
        case name
        /// The value has a control character, or white space at an end.
        case value
        /// The name appears twice or is reserved for the transport.
        case repeated
        /// The request path is not visible ASCII beginning with `/`.
        case path
        /// A request has a varying value although its block has no name for it, or lacks one.
        case varying
    }

    /// The kind of problem.
    public let reason: Reason

    /// The field's name; never its value.
    public let field: String

    init(field: String, _ reason: Reason) {
        self.field = field
        self.reason = reason
    }

    /// One line for the operator, without header values, which may be credentials.
    public var description: String {
        switch reason {
        case .name: "header \"\(field)\": the name must be a lower-case token"
        case .value: "header \"\(field)\": the value has control characters or white space at its ends"
        case .repeated: "header \"\(field)\": given twice, or set by the transport itself"
        case .path: "request path: must begin with / and hold visible ASCII only"
        case .varying: "header \"\(field)\": value and name of the varying header do not come together"
        }
    }
}

private func isFieldName(_ name: String) -> Bool {
    !name.isEmpty
        && name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
        }
}

/// Returns whether all bytes are visible ASCII, which makes a valid request target and a valid header value.
///
/// A loop without an early exit, of which the compiler checks sixteen bytes at once.
func isVisibleASCII(_ bytes: [UInt8]) -> Bool {
    let span = bytes.span
    var invalid: UInt8 = 0
    for index in span.indices { invalid |= span[index] &- 0x21 > 0x7E - 0x21 ? 1 : 0 }
    return invalid == 0
}

/// Returns whether bytes are a valid header value: no control characters, no white space at either end.
func isFieldValue(_ bytes: some BidirectionalCollection<UInt8>) -> Bool {
    let space = UInt8(ascii: " ")
    let tab = UInt8(ascii: "\t")
    if let first = bytes.first, first == space || first == tab { return false }
    if let last = bytes.last, last == space || last == tab { return false }
    return bytes.allSatisfy { ($0 >= space && $0 != 0x7F) || $0 == tab }
}
