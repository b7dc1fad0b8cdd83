internal import CCurl
internal import PushTransport

/// A URL that libcurl has parsed once; it would parse a text for each request.
///
/// Must outlive the easy handles that use it.
@safe
final class ParsedURL {
    private let handle: OpaquePointer

    /// Parses a URL.
    init(_ text: String) throws(TransportError) {
        guard let handle = unsafe curl_url() else {
            throw TransportError(reason: .call("curl_url", problem: "out of memory"))
        }
        unsafe self.handle = handle
        let code = unsafe curl_url_set(handle, CURLUPART_URL, text, 0)
        guard code == CURLUE_OK else {
            let problem = unsafe String(cString: curl_url_strerror(code))
            throw TransportError(reason: .call("curl_url_set", problem: problem))
        }
    }

    deinit { unsafe curl_url_cleanup(handle) }

    /// Sets the URL on an easy handle.
    func apply(to easy: UnsafeMutableRawPointer) throws(TransportError) {
        try check("CURLOPT_CURLU", unsafe ccurl_setopt_pointer(easy, CURLOPT_CURLU, UnsafeMutableRawPointer(handle)))
    }
}
