/// One POST to a provider, checked: what exists can be sent.
public struct PushRequest: Sendable {
    /// The caller's number for it, which comes back in ``PushAnswer/tag``.
    public let tag: UInt64

    /// The request target, such as `/3/device/…`.
    ///
    /// May hold a device token: never logged.
    public let path: [UInt8]

    /// The header fields shared with other requests.
    public let head: HeaderBlock

    /// The value of the block's varying field; empty if the block has none.
    public let varyingValue: [UInt8]

    /// The body shared with other requests.
    public let body: PushBody

    /// What goes between the body's prefix and suffix; usually empty.
    public let insertion: [UInt8]

    /// How long an answer may take, counted from when the request is handed to a connection, not from when it was
    /// submitted.
    public let deadline: Duration

    /// Where it goes, for transports that serve many origins; nil for the one endpoint of a transport that has one.
    public let origin: Endpoint?

    /// Checks and makes a request.
    ///
    /// - Parameters:
    ///   - tag: the caller's number for it.
    ///   - path: the request target: visible ASCII that begins with `/`.
    ///   - head: the shared header fields.
    ///   - varyingValue: the value of the block's varying field, if it has one.
    ///   - body: the shared body.
    ///   - insertion: what goes between the body's prefix and suffix.
    ///   - deadline: how long an answer may take.
    ///   - origin: where it goes, for transports that serve many origins.
    /// - Throws: ``HeaderError`` if path or value could break out of their line.
    public init(
        tag: UInt64,
        path: [UInt8],
        head: HeaderBlock,
        varyingValue: [UInt8] = [],
        body: PushBody,
        insertion: [UInt8] = [],
        deadline: Duration = .seconds(15),
        origin: Endpoint? = nil
    ) throws(HeaderError) {
        guard path.first == UInt8(ascii: "/"), path.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw HeaderError(field: "", .path)
        }
        guard varyingValue.isEmpty == (head.varyingName == nil) else {
            throw HeaderError(field: head.varyingName ?? "", .varying)
        }
        guard isFieldValue(varyingValue) else { throw HeaderError(field: head.varyingName ?? "", .value) }
        self.tag = tag
        self.path = path
        self.head = head
        self.varyingValue = varyingValue
        self.body = body
        self.insertion = insertion
        self.deadline = deadline
        self.origin = origin
    }

    /// The body's length in bytes.
    public var contentLength: Int {
        body.prefix.count + insertion.count + body.suffix.count
    }
}
