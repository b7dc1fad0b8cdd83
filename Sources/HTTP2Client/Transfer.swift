internal import CCurl
internal import PushTransport

/// One request in progress: a libcurl easy handle, which is reused for one request after another.
///
/// A class, because libcurl refers to it by a raw pointer (CURLOPT_PRIVATE and the callbacks' contexts).
@safe
final class Transfer {
    /// The easy handle; freed with the transfer, which must have been removed from its multi handle.
    let easy: UnsafeMutableRawPointer
    let context: TransferContext
    /// The request that is being sent; nil while the transfer is in the pool.
    private(set) var request: PushRequest?
    /// The connection that the request was assigned to.
    var connection: Connection?
    /// When the caller submitted it.
    private(set) var submittedAt: MonotonicTime = 0
    /// When the request was assigned to its connection.
    var attachedAt: MonotonicTime = 0
    /// When the request was sent, and when its answer is overdue; set once it has started.
    private(set) var startedAt: MonotonicTime = 0
    private(set) var deadlineAt = MonotonicTime.max
    /// Whether the request was handed to the socket; from then on it cannot be reported as not sent.
    private(set) var hasStarted = false
    /// Whether the request was stopped just before it was written because the lease had ended.
    private(set) var wasTooLate = false
    /// The part of the answer's body that has arrived.
    private(set) var answerBody: [UInt8] = []
    private var answerBytes = 0
    private var answerHeaderBytes = 0
    private var bodyOffset = 0
    private var headers: HeaderList?
    /// The method that the easy handle is set to.
    private var method = RequestMethod.post
    private let node: UnsafeMutablePointer<curl_slist>
    private var line: UnsafeMutableBufferPointer<CChar>
    private let errorBuffer: UnsafeMutablePointer<CChar>

    /// The objects that libcurl shares between easy handles, which must be freed after them.
    private let settings: TransferSettings

    private init(owning easy: UnsafeMutableRawPointer, settings: TransferSettings, context: TransferContext) {
        unsafe self.easy = easy
        self.settings = settings
        self.context = context
        unsafe line = .allocate(capacity: 128)
        unsafe line.initialize(repeating: 0)
        unsafe errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        unsafe node = .allocate(capacity: 1)
        unsafe node.initialize(to: curl_slist(data: line.baseAddress, next: nil))
    }

    deinit {
        unsafe curl_easy_cleanup(easy)
        unsafe node.deallocate()
        unsafe line.deallocate()
        unsafe errorBuffer.deallocate()
    }

    /// Creates a transfer with the settings that are the same for each request.
    static func open(_ settings: TransferSettings, context: TransferContext) throws(TransportError) -> Transfer {
        guard let easy = unsafe curl_easy_init() else {
            throw TransportError(reason: .call("curl_easy_init", problem: "out of memory"))
        }
        let transfer = unsafe Transfer(owning: easy, settings: settings, context: context)
        try settings.apply(to: transfer)
        try unsafe check("HTTPHEADER", ccurl_setopt_headers(easy, transfer.node))
        try unsafe check("ERRORBUFFER", ccurl_setopt_pointer(easy, CURLOPT_ERRORBUFFER, transfer.errorBuffer))
        return transfer
    }

    /// Returns the transfer of an easy handle.
    static func behind(_ easy: UnsafeMutableRawPointer?) -> Transfer? {
        var context: UnsafeMutableRawPointer?
        guard unsafe ccurl_getinfo_private(easy, &context) == CURLE_OK, let context = unsafe context else { return nil }
        return unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    }

    /// Fills the transfer with a request.
    func prepare(_ request: PushRequest, headers: HeaderList, now: MonotonicTime) throws(TransportError) {
        submittedAt = now
        try setTarget(request.path)
        try check(
            "POSTFIELDSIZE",
            unsafe ccurl_setopt_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.contentLength))
        )
        try setMethod(request.head.method)
        self.headers = headers
        setVaryingLine(headers.varyingPrefix, request.varyingValue)
        unsafe node.pointee.next = headers.tail
        unsafe errorBuffer.pointee = 0
        self.request = request
    }

    /// Sets the method if it differs from that of the handle's last request.
    private func setMethod(_ wanted: RequestMethod) throws(TransportError) {
        guard wanted != method else { return }
        // A null pointer restores the method of CURLOPT_POST.
        try check(
            "CUSTOMREQUEST",
            wanted == .post
                ? unsafe ccurl_setopt_pointer(easy, CURLOPT_CUSTOMREQUEST, nil)
                : unsafe ccurl_setopt_string(easy, CURLOPT_CUSTOMREQUEST, wanted.rawValue)
        )
        method = wanted
    }

    /// Clears the transfer for the pool, so that no data of a request outlives its answer.
    func clear() {
        request = nil
        unsafe node.pointee.next = nil
        headers = nil
        bodyOffset = 0
        hasStarted = false
        wasTooLate = false
        deadlineAt = .max
        answerBytes = 0
        answerHeaderBytes = 0
        if !answerBody.isEmpty { answerBody = [] }
    }

    /// Returns libcurl's error text, safe to log: it names hosts and protocol errors, never paths or headers.
    func detail(_ code: CURLcode) -> String {
        unsafe errorBuffer.pointee == 0 ? describe(code) : String(cString: errorBuffer)
    }

    /// Runs just before the request is written to an established connection.
    ///
    /// - Returns: whether it may be written.
    func mayStart() -> Bool {
        guard let connection, let request else { return false }
        if connection.machine.establish(now: context.now) {
            context.state.established += 1
            context.state.failedConnectsInARow = 0
            context.state.lastConnectFailure = ""
        }
        // libcurl resends a request by itself if it assumes that the peer has not read it. The peer may have read it.
        if hasStarted { return false }
        if ContinuousClock.now >= context.sendUntil {
            wasTooLate = true
            return false
        }
        hasStarted = true
        startedAt = context.now
        deadlineAt = startedAt + request.deadline.nanoseconds
        context.checkBy(deadlineAt)
        connection.machine.start()
        return true
    }

    /// Copies the next part of the body.
    ///
    /// - Returns: how many bytes were copied.
    func readBody(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let request else { return 0 }
        let prefix = request.body.prefix
        let insertion = request.insertion
        var copied = unsafe copy(prefix, startingAt: 0, to: buffer)
        copied += unsafe copy(insertion, startingAt: prefix.count, to: rest(of: buffer, after: copied))
        copied += unsafe copy(
            request.body.suffix,
            startingAt: prefix.count + insertion.count,
            to: rest(of: buffer, after: copied)
        )
        return copied
    }

    private func rest(of buffer: UnsafeMutableRawBufferPointer, after count: Int) -> UnsafeMutableRawBufferPointer {
        unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
    }

    /// Copies the rest of one segment of the body.
    private func copy(
        _ segment: [UInt8],
        startingAt start: Int,
        to buffer: UnsafeMutableRawBufferPointer
    ) -> Int {
        let from = bodyOffset - start
        guard from < segment.count, unsafe !buffer.isEmpty else { return 0 }
        let count = min(segment.count - from, buffer.count)
        unsafe segment.withUnsafeBytes { bytes in
            unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[from..<from + count]))
        }
        bodyOffset += count
        return count
    }

    /// Keeps a part of the answer's body.
    ///
    /// - Returns: whether more is wanted.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        answerBytes += bytes.count
        // The body of a successful answer is not needed.
        if status() != 200 { unsafe answerBody += bytes.prefix(max(context.answerLimit - answerBody.count, 0)) }
        return answerBytes <= context.readLimit
    }

    /// Counts a line of the answer's header.
    ///
    /// - Returns: whether more is wanted.
    func receiveHeader(_ count: Int) -> Bool {
        answerHeaderBytes += count
        return answerHeaderBytes <= context.readLimit
    }

    /// Returns the final status of the answer; 0 until one has arrived.
    func status() -> UInt16 {
        unsafe answerStatus(of: easy)
    }

    private func setTarget(_ path: [UInt8]) throws(TransportError) {
        reserveLine(path.count + 1)
        copyLine(path, at: 0)
        unsafe line[path.count] = 0
        // libcurl copies the string.
        try check("REQUEST_TARGET", unsafe ccurl_setopt_string(easy, CURLOPT_REQUEST_TARGET, line.baseAddress))
    }

    private func setVaryingLine(_ prefix: [UInt8], _ value: [UInt8]) {
        // A header name without a value adds nothing.
        let prefix = prefix.isEmpty ? Array("accept:".utf8) : prefix
        reserveLine(prefix.count + value.count + 1)
        copyLine(prefix, at: 0)
        copyLine(value, at: prefix.count)
        unsafe line[prefix.count + value.count] = 0
        unsafe node.pointee.data = line.baseAddress
    }

    private func copyLine(_ bytes: [UInt8], at start: Int) {
        for index in bytes.indices { unsafe line[start + index] = CChar(bitPattern: bytes[index]) }
    }

    private func reserveLine(_ count: Int) {
        guard unsafe line.count < count else { return }
        unsafe line.deallocate()
        unsafe line = .allocate(capacity: count)
        unsafe line.initialize(repeating: 0)
    }
}
