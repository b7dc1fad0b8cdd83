internal import CCurl
internal import PushTransport

/// One ``FormRequest`` under way: a libcurl easy handle by itself.
///
/// A class, because libcurl finds it again through a raw pointer.
@safe
final class FormExchange {
    private let easy: UnsafeMutableRawPointer
    private let errorBuffer: UnsafeMutablePointer<CChar>
    private let trustStore: MemoryFile?
    private let answerLimit: Int
    private var headers: UnsafeMutablePointer<curl_slist>?
    private var answerBody: [UInt8] = []
    private var headerBytes = 0
    private var isTooLong = false

    private init(owning easy: UnsafeMutableRawPointer, answerLimit: Int, trustStore: MemoryFile?) {
        unsafe self.easy = easy
        self.answerLimit = answerLimit
        self.trustStore = trustStore
        unsafe errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        unsafe curl_easy_cleanup(easy)
        unsafe curl_slist_free_all(headers)
        unsafe errorBuffer.deallocate()
    }

    /// Prepares a request.
    static func open(_ request: FormRequest, trustStore: MemoryFile?) throws(TransportError) -> FormExchange {
        guard let easy = unsafe curl_easy_init() else {
            throw TransportError(reason: .call("curl_easy_init", problem: "out of memory"))
        }
        let limit = request.answerLimit
        let exchange = unsafe FormExchange(owning: easy, answerLimit: limit, trustStore: trustStore)
        try exchange.configure(request)
        try exchange.setRequest(request)
        try exchange.setCallbacks()
        return exchange
    }

    private func configure(_ request: FormRequest) throws(TransportError) {
        try unsafe setOption(easy, CURLOPT_PROTOCOLS_STR, "https")
        try unsafe setOption(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        try unsafe setOption(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        try unsafe setOption(easy, CURLOPT_SSL_VERIFYPEER, 1)
        try unsafe setOption(easy, CURLOPT_SSL_VERIFYHOST, 2)
        if let trustStore { try unsafe setOption(easy, CURLOPT_CAINFO, trustStore.path) }
        try unsafe setOption(easy, CURLOPT_FOLLOWLOCATION, 0)
        // An empty name means no proxy, whatever the environment says.
        try unsafe setOption(easy, CURLOPT_PROXY, "")
        try unsafe setOption(easy, CURLOPT_NETRC, 0)
        try unsafe setOption(easy, CURLOPT_NOSIGNAL, 1)
        try unsafe setOption(easy, CURLOPT_FORBID_REUSE, 1)
        // A resolver that hangs must not outlast the deadline (libcurl 7.87 or newer).
        _ = unsafe ccurl_setopt_long(easy, CURLOPT_QUICK_EXIT, 1)
        let milliseconds = Int(max(request.deadline.nanoseconds / 1_000_000, 1))
        try unsafe setOption(easy, CURLOPT_TIMEOUT_MS, milliseconds)
        try unsafe setOption(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds)
    }

    private func setRequest(_ request: FormRequest) throws(TransportError) {
        try unsafe setOption(easy, CURLOPT_URL, "\(request.url.origin)/")
        try unsafe setOption(easy, CURLOPT_REQUEST_TARGET, String(decoding: request.url.target, as: UTF8.self))
        try unsafe setOption(easy, CURLOPT_PATH_AS_IS, 1)
        try unsafe setOption(easy, CURLOPT_POST, 1)
        try unsafe setOption(easy, CURLOPT_COPYPOSTFIELDS, request.body)
        for line in ["content-type: application/x-www-form-urlencoded", "accept: application/json", "expect:"] {
            unsafe headers = curl_slist_append(headers, line) ?? headers
        }
        try check("HTTPHEADER", unsafe ccurl_setopt_headers(easy, headers))
    }

    private func setCallbacks() throws(TransportError) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        try check("ERRORBUFFER", unsafe ccurl_setopt_pointer(easy, CURLOPT_ERRORBUFFER, errorBuffer))
        try check("WRITEDATA", unsafe ccurl_setopt_pointer(easy, CURLOPT_WRITEDATA, context))
        try check("WRITEFUNCTION", unsafe ccurl_setopt_write(easy, receiveFormAnswer))
        try check("HEADERDATA", unsafe ccurl_setopt_pointer(easy, CURLOPT_HEADERDATA, context))
        try check("HEADERFUNCTION", unsafe ccurl_setopt_header(easy, countFormHeader))
    }

    /// Sends it and waits.
    func perform() -> FormAnswer {
        let code = unsafe curl_easy_perform(easy)
        let status = unsafe answerStatus(of: easy)
        if isTooLong {
            return FormAnswer(without: .lost, detail: "the answer has more than \(answerLimit) bytes")
        }
        guard code == CURLE_OK, status > 0 else {
            let cause = FateCause(code)
            let detail = unsafe errorBuffer.pointee == 0 ? describe(code) : String(cString: errorBuffer)
            return FormAnswer(without: cause, detail: code == CURLE_OK ? "the answer has no status" : detail)
        }
        let retryAfter = unsafe answerHeader("retry-after", of: easy)
        return FormAnswer(status: status, body: answerBody, retryAfter: retryAfter)
    }

    fileprivate func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= answerLimit - answerBody.count else {
            isTooLong = true
            return false
        }
        unsafe answerBody += bytes
        return true
    }

    fileprivate func receiveHeader(_ count: Int) -> Bool {
        headerBytes += count
        if headerBytes > max(answerLimit, 64 * 1024) { isTooLong = true }
        return !isTooLong
    }
}

private func receiveFormAnswer(
    _ buffer: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context = unsafe context else { return 0 }
    let exchange = unsafe Unmanaged<FormExchange>.fromOpaque(context).takeUnretainedValue()
    return unsafe exchange.receive(UnsafeRawBufferPointer(start: buffer, count: size * count)) ? size * count : 0
}

private func countFormHeader(
    _ buffer: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context = unsafe context else { return 0 }
    let exchange = unsafe Unmanaged<FormExchange>.fromOpaque(context).takeUnretainedValue()
    return exchange.receiveHeader(size * count) ? size * count : 0
}
