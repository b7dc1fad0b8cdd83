internal import CCurl
internal import PushTransport

/// One ``SingleRequest`` in progress: a libcurl easy handle of its own.
///
/// A class, because libcurl refers to it by a raw pointer.
@safe
final class SingleExchange {
    private let easy: UnsafeMutableRawPointer
    private let errorBuffer: UnsafeMutablePointer<CChar>
    private let request: SingleRequest
    private let settings: ConnectionSettings
    private let headers: HeaderList
    private var answerBody: [UInt8] = []
    private var headerBytes = 0
    private var isTooLong = false
    private var hasStarted = false

    private init(owning easy: UnsafeMutableRawPointer, _ request: SingleRequest, _ settings: ConnectionSettings) {
        unsafe self.easy = easy
        self.request = request
        self.settings = settings
        headers = HeaderList(request.head)
        unsafe errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        unsafe curl_easy_cleanup(easy)
        unsafe errorBuffer.deallocate()
    }

    /// Prepares a request.
    static func open(
        _ request: SingleRequest,
        _ settings: ConnectionSettings
    ) throws(TransportError) -> SingleExchange {
        guard let easy = unsafe curl_easy_init() else {
            throw TransportError(reason: .call("curl_easy_init", problem: "out of memory"))
        }
        let exchange = unsafe SingleExchange(owning: easy, request, settings)
        try unsafe settings.apply(to: easy)
        try exchange.setRequest()
        try exchange.setCallbacks()
        return exchange
    }

    private func setRequest() throws(TransportError) {
        try unsafe setOption(easy, CURLOPT_URL, "\(request.url.origin)/")
        try unsafe setOption(easy, CURLOPT_REQUEST_TARGET, String(decoding: request.url.target, as: UTF8.self))
        try unsafe setOption(easy, CURLOPT_FORBID_REUSE, 1)
        let milliseconds = Int(max(request.deadline.nanoseconds / 1_000_000, 1))
        try unsafe setOption(easy, CURLOPT_TIMEOUT_MS, milliseconds)
        try unsafe setOption(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds)
        if !request.body.isEmpty || request.method == "POST" {
            try unsafe setOption(easy, CURLOPT_POST, 1)
            try check("COPYPOSTFIELDS", unsafe ccurl_setopt_body(easy, request.body, request.body.count))
        }
        try unsafe setOption(easy, CURLOPT_CUSTOMREQUEST, request.method)
        try check("HTTPHEADER", unsafe ccurl_setopt_headers(easy, headers.tail))
    }

    private func setCallbacks() throws(TransportError) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        try check("ERRORBUFFER", unsafe ccurl_setopt_pointer(easy, CURLOPT_ERRORBUFFER, errorBuffer))
        for option in [CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_PREREQDATA] {
            try check("callback context", unsafe ccurl_setopt_pointer(easy, option, context))
        }
        try check("WRITEFUNCTION", unsafe ccurl_setopt_write(easy, receiveBody))
        try check("HEADERFUNCTION", unsafe ccurl_setopt_header(easy, receiveHeader))
        try check("PREREQFUNCTION", unsafe ccurl_setopt_prerequest(easy, noteStart))
    }

    /// Sends the request and waits for the answer.
    func perform(keeping names: [String]) -> SingleAnswer {
        let code = unsafe curl_easy_perform(easy)
        if isTooLong {
            return SingleAnswer(without: .lost, detail: "the answer has more than \(request.answerLimit) bytes")
        }
        let status = unsafe answerStatus(of: easy)
        guard code == CURLE_OK else { return failure(code) }
        guard status > 0 else { return SingleAnswer(without: .lost, detail: "the answer has no status") }
        var kept: [String: String] = [:]
        for name in names { kept[name] = unsafe answerHeader(name, of: easy) }
        return SingleAnswer(status: status, body: answerBody, headers: kept)
    }

    private func failure(_ code: CURLcode) -> SingleAnswer {
        let cause = FateCause(code)
        let detail = unsafe errorBuffer.pointee == 0 ? describe(code) : String(cString: errorBuffer)
        guard !hasStarted else { return SingleAnswer(without: cause, detail: detail) }
        let problem = unsafe settings.connectProblem(of: easy, detail)
        return SingleAnswer(without: cause == .lost ? .connect : cause, detail: problem)
    }

    fileprivate func start() { hasStarted = true }

    fileprivate func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= request.answerLimit - answerBody.count else {
            isTooLong = true
            return false
        }
        unsafe answerBody += bytes
        return true
    }

    fileprivate func countHeader(_ count: Int) -> Bool {
        headerBytes += count
        if headerBytes > TransportOptions.readLimit(keeping: request.answerLimit) { isTooLong = true }
        return !isTooLong
    }
}

private func exchangeBehind(_ context: UnsafeMutableRawPointer?) -> SingleExchange? {
    guard let context = unsafe context else { return nil }
    return unsafe Unmanaged<SingleExchange>.fromOpaque(context).takeUnretainedValue()
}

private func receiveBody(
    _ buffer: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let bytes = unsafe UnsafeRawBufferPointer(start: buffer, count: size * count)
    return unsafe exchangeBehind(context)?.receive(bytes) == true ? size * count : 0
}

private func receiveHeader(
    _ buffer: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    unsafe exchangeBehind(context)?.countHeader(size * count) == true ? size * count : 0
}

/// Runs just before the request is written to an established connection, tunnel included.
private func noteStart(
    _ context: UnsafeMutableRawPointer?,
    _ peer: UnsafeMutablePointer<CChar>?,
    _ local: UnsafeMutablePointer<CChar>?,
    _ peerPort: Int32,
    _ localPort: Int32
) -> Int32 {
    unsafe exchangeBehind(context)?.start()
    return CURL_PREREQFUNC_OK
}
