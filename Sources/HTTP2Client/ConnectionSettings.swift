internal import CCurl
import Glibc
internal import PushTransport

/// The settings of every connection, for pushes and single requests.
///
/// https only, with verification, without redirects, through the configured proxy or none. Proxy variables in the environment are ignored.
struct ConnectionSettings {
    private let proxy: HTTPProxy?
    private let trustStore: MemoryFile?
    private let certificate: (chain: MemoryFile, key: [UInt8])?

    /// Reads the files that the settings need.
    ///
    /// - Parameters:
    ///   - caFile: a file with CAs to trust in addition to the system's.
    ///   - clientCertificate: the certificate for the server; never sent to the proxy.
    ///   - proxy: the proxy through which connections are tunnelled.
    ///   - trustStore: the certificates of the CA file, if it was read before.
    /// - Throws: ``TransportError`` for a CA file or certificate that is unusable.
    init(
        caFile: String?,
        clientCertificate: ClientCertificate?,
        proxy: HTTPProxy?,
        trustStore: MemoryFile? = nil
    ) throws(TransportError) {
        self.proxy = proxy
        if trustStore == nil, let caFile {
            self.trustStore = try TrustStore.joining(caFile: caFile)
        } else {
            self.trustStore = trustStore
        }
        guard let clientCertificate else {
            certificate = nil
            return
        }
        guard let chain = MemoryFile.holding(clientCertificate.chain) else {
            let problem = unsafe String(cString: strerror(errno))
            throw TransportError(reason: .clientCertificate(problem: problem))
        }
        certificate = (chain, clientCertificate.privateKey)
    }

    /// Applies the settings to an easy handle, which must not outlive them.
    func apply(to easy: UnsafeMutableRawPointer) throws(TransportError) {
        try unsafe setOption(easy, CURLOPT_PROTOCOLS_STR, "https")
        try unsafe setOption(easy, CURLOPT_PATH_AS_IS, 1)
        try unsafe setOption(easy, CURLOPT_FOLLOWLOCATION, 0)
        try unsafe setOption(easy, CURLOPT_NETRC, 0)
        try unsafe setOption(easy, CURLOPT_NOSIGNAL, 1)
        // A hanging resolver must not block the thread when its request is given up (libcurl 7.87 or newer).
        _ = unsafe ccurl_setopt_long(easy, CURLOPT_QUICK_EXIT, 1)
        try unsafe setOption(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        try unsafe setOption(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        try unsafe setOption(easy, CURLOPT_SSL_VERIFYPEER, 1)
        try unsafe setOption(easy, CURLOPT_SSL_VERIFYHOST, 2)
        if let trustStore { try unsafe setOption(easy, CURLOPT_CAINFO, trustStore.path) }
        try unsafe setCertificate(of: easy)
        try unsafe setProxy(of: easy)
    }

    /// Returns the reason why an easy handle got no connection, safe to log.
    ///
    /// - Parameters:
    ///   - easy: the handle.
    ///   - problem: libcurl's error text.
    /// - Returns: the proxy's answer if it refused the tunnel, else the error text.
    func connectProblem(of easy: UnsafeMutableRawPointer, _ problem: String) -> String {
        guard let proxy else { return problem }
        var status = 0
        _ = unsafe ccurl_getinfo_long(easy, CURLINFO_HTTP_CONNECTCODE, &status)
        return status >= 300 ? proxy.refusal(status) : "through proxy \(proxy): \(problem)"
    }

    private func setCertificate(of easy: UnsafeMutableRawPointer) throws(TransportError) {
        guard let certificate else { return }
        try unsafe setOption(easy, CURLOPT_SSLCERTTYPE, "PEM")
        try unsafe setOption(easy, CURLOPT_SSLCERT, certificate.chain.path)
        try unsafe setOption(easy, CURLOPT_SSLKEYTYPE, "PEM")
        let code = unsafe ccurl_setopt_blob(easy, CURLOPT_SSLKEY_BLOB, certificate.key, certificate.key.count)
        guard code == CURLE_OK else { throw TransportError(reason: .clientCertificate(problem: describe(code))) }
    }

    private func setProxy(of easy: UnsafeMutableRawPointer) throws(TransportError) {
        // An empty name disables the proxy and an empty list exempts no host, so that https_proxy and no_proxy are
        // ignored.
        try unsafe setOption(easy, CURLOPT_PROXY, proxy?.description ?? "")
        try unsafe setOption(easy, CURLOPT_NOPROXY, "")
        guard let proxy else { return }
        if let credentials = try proxy.credentials() { try unsafe setOption(easy, CURLOPT_PROXYUSERPWD, credentials) }
        try unsafe setOption(easy, CURLOPT_HTTPPROXYTUNNEL, 1)
        // The request's header fields go to the server only, and the proxy's header fields are not read as the
        // server's.
        try unsafe setOption(easy, CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        try unsafe setOption(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        try unsafe setOption(easy, CURLOPT_PROXY_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        try unsafe setOption(easy, CURLOPT_PROXY_SSL_VERIFYPEER, 1)
        try unsafe setOption(easy, CURLOPT_PROXY_SSL_VERIFYHOST, 2)
        if let trustStore { try unsafe setOption(easy, CURLOPT_PROXY_CAINFO, trustStore.path) }
    }
}
