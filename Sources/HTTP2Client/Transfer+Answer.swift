internal import CCurl
internal import PushTransport

/// Reads a finished transfer's answer.
extension Transfer {
    /// Whether the answer came over HTTP/2.
    func isHTTP2() -> Bool {
        var version = 0
        guard unsafe ccurl_getinfo_long(easy, CURLINFO_HTTP_VERSION, &version) == CURLE_OK else { return false }
        return version == CURL_HTTP_VERSION_2_0
    }

    /// Returns the answer's header fields with the given names.
    func headers(_ names: [String]) -> [HeaderField] {
        names.compactMap { name in
            unsafe answerHeader(name, of: easy).flatMap { try? HeaderField(name, $0) }
        }
    }
}
