internal import CCurl
internal import PushTransport

/// The installed libcurl.
enum CurlLibrary {
    /// Initialises libcurl once per process; it is never cleaned up, since another thread may still use it.
    private static let initialised: CURLcode = curl_global_init(Int(CURL_GLOBAL_ALL))

    /// Whether libcurl uses the OpenSSL that this process is linked with, so that its contexts may be accessed.
    static let sharesOpenSSL: Bool = {
        guard let version = unsafe curl_version_info(CURLVERSION_TENTH) else { return false }
        return unsafe ccurl_shares_openssl(version) != 0
    }()

    /// Initialises libcurl and checks that it has the required features.
    static func prepare() throws(TransportError) {
        try check("curl_global_init", initialised)
        guard let version = unsafe curl_version_info(CURLVERSION_TENTH) else { return }
        let name = unsafe String(cString: version.pointee.version)
        let features = unsafe version.pointee.features
        if features & CURL_VERSION_HTTP2 == 0 { throw TransportError(reason: .libcurl(version: name, lacks: "HTTP/2")) }
        if features & CURL_VERSION_SSL == 0 { throw TransportError(reason: .libcurl(version: name, lacks: "TLS")) }
        // PREREQFUNCTION is from 7.80, the header API from 7.83, PROTOCOLS_STR from 7.85.
        if unsafe version.pointee.version_num < 0x075500 {
            throw TransportError(reason: .libcurl(version: name, lacks: "CURLOPT_PROTOCOLS_STR (7.85)"))
        }
    }
}
