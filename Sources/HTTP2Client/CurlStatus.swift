internal import CCurl
internal import PushTransport

/// Throws an error for a failed curl_easy call, whose status Swift would otherwise discard silently.
func check(_ call: StaticString, _ code: CURLcode) throws(TransportError) {
    guard code != CURLE_OK else { return }
    throw TransportError(reason: .call("libcurl: \(call)", problem: describe(code)))
}

/// Throws an error for a failed curl_multi call.
func check(_ call: StaticString, _ code: CURLMcode) throws(TransportError) {
    guard code != CURLM_OK else { return }
    let text = unsafe curl_multi_strerror(code).map { unsafe String(cString: $0) }
    throw TransportError(reason: .call("libcurl: \(call)", problem: text ?? "error \(code.rawValue)"))
}

/// Returns libcurl's text for an error code.
func describe(_ code: CURLcode) -> String {
    unsafe curl_easy_strerror(code).map { unsafe String(cString: $0) } ?? "error \(code.rawValue)"
}
