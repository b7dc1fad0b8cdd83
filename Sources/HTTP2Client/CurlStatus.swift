internal import CCurl
internal import PushTransport

/// Turns the status of a curl_easy call into an error; left alone Swift would drop it without a word.
func check(_ call: StaticString, _ code: CURLcode) throws(TransportError) {
    guard code != CURLE_OK else { return }
    throw TransportError(reason: .call("libcurl: \(call)", problem: describe(code)))
}

/// Turns the status of a curl_multi call into an error.
func check(_ call: StaticString, _ code: CURLMcode) throws(TransportError) {
    guard code != CURLM_OK else { return }
    let text = unsafe curl_multi_strerror(code).map { unsafe String(cString: $0) }
    throw TransportError(reason: .call("libcurl: \(call)", problem: text ?? "error \(code.rawValue)"))
}

/// What libcurl calls an error.
func describe(_ code: CURLcode) -> String {
    unsafe curl_easy_strerror(code).map { unsafe String(cString: $0) } ?? "error \(code.rawValue)"
}
