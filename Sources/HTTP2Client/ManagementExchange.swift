internal import CCurl
internal import PushTransport

/// One ``ManagementRequest`` under way: a libcurl easy handle by itself.
///
/// A class, because libcurl finds it again through a raw pointer.
@safe
final class ManagementExchange {
    private let easy: UnsafeMutableRawPointer
    private let errorBuffer: UnsafeMutablePointer<CChar>
    private let request: ManagementRequest
    private let files: [MemoryFile]
    private var headers: UnsafeMutablePointer<curl_slist>?
    private var answerBody: [UInt8] = []
    private var isTooLong = false

    private init(owning easy: UnsafeMutableRawPointer, _ request: ManagementRequest, files: [MemoryFile]) {
        unsafe self.easy = easy
        self.request = request
        self.files = files
        unsafe errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        unsafe curl_easy_cleanup(easy)
        unsafe curl_slist_free_all(headers)
        unsafe errorBuffer.deallocate()
    }

    /// Prepares a request.
    static func open(
        _ request: ManagementRequest,
        trustStore: MemoryFile?,
        certificateChain: MemoryFile?
    ) throws(TransportError) -> ManagementExchange {
        guard let easy = unsafe curl_easy_init() else {
            throw TransportError(reason: .call("curl_easy_init", problem: "out of memory"))
        }
        let files = [trustStore, certificateChain].compactMap(\.self)
        let exchange = unsafe ManagementExchange(owning: easy, request, files: files)
        try exchange.setNetwork(trustStore)
        if let certificate = request.clientCertificate, let certificateChain {
            try exchange.setCertificate(certificate, chain: certificateChain)
        }
        try exchange.setRequest()
        try exchange.setCallbacks()
        return exchange
    }

    private func setNetwork(_ trustStore: MemoryFile?) throws(TransportError) {
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

    private func setCertificate(_ certificate: ClientCertificate, chain: MemoryFile) throws(TransportError) {
        try unsafe setOption(easy, CURLOPT_SSLCERTTYPE, "PEM")
        try unsafe setOption(easy, CURLOPT_SSLCERT, chain.path)
        try unsafe setOption(easy, CURLOPT_SSLKEYTYPE, "PEM")
        let key = certificate.privateKey
        let code = unsafe ccurl_setopt_blob(easy, CURLOPT_SSLKEY_BLOB, key, key.count)
        guard code == CURLE_OK else { throw TransportError(reason: .clientCertificate(problem: describe(code))) }
    }

    private func setRequest() throws(TransportError) {
        try unsafe setOption(easy, CURLOPT_URL, "\(request.url.origin)/")
        try unsafe setOption(easy, CURLOPT_REQUEST_TARGET, String(decoding: request.url.target, as: UTF8.self))
        try unsafe setOption(easy, CURLOPT_PATH_AS_IS, 1)
        var lines = request.fields.map { "\($0.name): \($0.value)" } + ["expect:"]
        if !request.body.isEmpty || request.method == "POST" {
            try unsafe setOption(easy, CURLOPT_POST, 1)
            try unsafe setOption(easy, CURLOPT_POSTFIELDSIZE, request.body.count)
            try unsafe setOption(easy, CURLOPT_COPYPOSTFIELDS, String(decoding: request.body, as: UTF8.self))
            lines.append("content-type: application/json")
        }
        try unsafe setOption(easy, CURLOPT_CUSTOMREQUEST, request.method)
        for line in lines { unsafe headers = curl_slist_append(headers, line) ?? headers }
        try check("HTTPHEADER", unsafe ccurl_setopt_headers(easy, headers))
    }

    private func setCallbacks() throws(TransportError) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        try check("ERRORBUFFER", unsafe ccurl_setopt_pointer(easy, CURLOPT_ERRORBUFFER, errorBuffer))
        try check("WRITEDATA", unsafe ccurl_setopt_pointer(easy, CURLOPT_WRITEDATA, context))
        try check("WRITEFUNCTION", unsafe ccurl_setopt_write(easy, receiveManagementAnswer))
    }

    /// Sends it and waits.
    func perform(keeping names: [String]) -> ManagementAnswer {
        let code = unsafe curl_easy_perform(easy)
        let status = unsafe answerStatus(of: easy)
        guard !isTooLong, code == CURLE_OK, status > 0 else {
            let said = unsafe errorBuffer.pointee == 0 ? describe(code) : String(cString: errorBuffer)
            let detail = isTooLong ? "the answer has more than \(request.answerLimit) bytes" : said
            return ManagementAnswer(status: 0, body: [], headers: [:], detail: detail)
        }
        var kept: [String: String] = [:]
        for name in names { kept[name] = unsafe answerHeader(name, of: easy) }
        return ManagementAnswer(status: status, body: answerBody, headers: kept, detail: "")
    }

    fileprivate func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= request.answerLimit - answerBody.count else {
            isTooLong = true
            return false
        }
        unsafe answerBody += bytes
        return true
    }
}

private func receiveManagementAnswer(
    _ buffer: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context = unsafe context else { return 0 }
    let exchange = unsafe Unmanaged<ManagementExchange>.fromOpaque(context).takeUnretainedValue()
    return unsafe exchange.receive(UnsafeRawBufferPointer(start: buffer, count: size * count)) ? size * count : 0
}
