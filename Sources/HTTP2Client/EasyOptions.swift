internal import CCurl
internal import PushTransport

/// Sets an option of an easy handle.
func setOption(_ easy: UnsafeMutableRawPointer, _ option: CURLoption, _ value: Int) throws(TransportError) {
    try checkOption(option, unsafe ccurl_setopt_long(easy, option, value))
}

/// Sets an option of an easy handle; libcurl copies the text.
func setOption(_ easy: UnsafeMutableRawPointer, _ option: CURLoption, _ value: String) throws(TransportError) {
    try checkOption(option, unsafe ccurl_setopt_string(easy, option, value))
}

private func checkOption(_ option: CURLoption, _ code: CURLcode) throws(TransportError) {
    guard code != CURLE_OK else { return }
    throw TransportError(reason: .call("libcurl: option \(option.rawValue)", problem: describe(code)))
}

/// Returns the final status of an easy handle's answer; 0 until one has arrived.
func answerStatus(of easy: UnsafeMutableRawPointer) -> UInt16 {
    var status = 0
    guard unsafe ccurl_getinfo_long(easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK else { return 0 }
    // A 1xx status is informational and not final.
    return status >= 200 ? UInt16(clamping: status) : 0
}

/// The value of a header field of an easy handle's answer.
func answerHeader(_ name: String, of easy: UnsafeMutableRawPointer) -> String? {
    var header: UnsafeMutablePointer<curl_header>?
    let code = unsafe curl_easy_header(easy, name, 0, UInt32(CURLH_HEADER), -1, &header)
    guard code == CURLHE_OK, let value = unsafe header?.pointee.value else { return nil }
    return unsafe String(cString: value)
}

extension FateCause {
    /// Derives the cause of a failed transfer from libcurl's error code.
    init(_ code: CURLcode) {
        switch code {
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT,
            CURLE_SSL_CRL_BADFILE, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_ENGINE_NOTFOUND:
            self = .tls
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT: self = .connect
        case CURLE_OPERATION_TIMEDOUT: self = .deadline
        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT, CURLE_BAD_FUNCTION_ARGUMENT: self = .local
        default: self = .lost
        }
    }
}
