/// One validated request to a provider, usually a POST; immutable.
///
/// A class, because a request is passed on several times before it is sent: each copy then costs one reference count.
public final class PushRequest: Sendable {
    /// The caller's number for the request, returned in ``PushAnswer/tag``.
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

    /// The bytes between the body's prefix and suffix; usually empty.
    public let insertion: [UInt8]

    /// The body's length in bytes.
    public let contentLength: Int

    /// The time limit for the answer, counted from when the request is handed to a connection, not from its submission.
    public let deadline: Duration

    /// The origin, for transports to many origins; nil for a transport with one endpoint.
    public let origin: Endpoint?

    /// Validates and creates a request.
    ///
    /// - Parameters:
    ///   - tag: the caller's number for it.
    ///   - path: the request target: visible ASCII that begins with `/`.
    ///   - head: the shared header fields.
    ///   - varyingValue: the value of the block's varying field, if it has one.
    ///   - body: the shared body.
    ///   - insertion: the bytes between the body's prefix and suffix.
    ///   - deadline: the time limit for the answer.
    ///   - origin: the origin, for transports to many origins.
    /// - Throws: ``HeaderError`` if the path or the value contains characters that could start another header line.
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
        guard path.first == UInt8(ascii: "/"), isVisibleASCII(path) else {
            throw HeaderError(field: "", .path)
        }
        guard varyingValue.isEmpty == (head.varyingName == nil) else {
            throw HeaderError(field: head.varyingName ?? "", .varying)
        }
        guard isVisibleASCII(varyingValue) || isFieldValue(varyingValue) else {
            throw HeaderError(field: head.varyingName ?? "", .value)
        }
        self.tag = tag
        self.path = path
        self.head = head
        self.varyingValue = varyingValue
        self.body = body
        self.insertion = insertion
        contentLength = body.prefix.count + insertion.count + body.suffix.count
        self.deadline = deadline
        self.origin = origin
    }
}
