internal import CCurl
import Glibc
internal import PushTransport

/// How every connection is made, for pushes and single requests: https only, verified, without redirects, through the
/// given proxy or none, and whatever the environment says.
struct ConnectionSettings {
    private let proxy: HTTPProxy?
    private let trustStore: MemoryFile?
    private let certificate: (chain: MemoryFile, key: [UInt8])?

    /// Reads what the settings need.
    ///
    /// - Parameters:
    ///   - caFile: CAs to trust beside the system's.
    ///   - clientCertificate: what is shown to the server, never to the proxy.
    ///   - proxy: what connections are tunnelled through.
    ///   - trustStore: what the CA file became, where it was read before.
    /// - Throws: ``TransportError`` for a CA file or certificate that is of no use.
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

    /// Prepares an easy handle, which must not outlive the settings.
    func apply(to easy: UnsafeMutableRawPointer) throws(TransportError) {
        try unsafe setOption(easy, CURLOPT_PROTOCOLS_STR, "https")
        try unsafe setOption(easy, CURLOPT_PATH_AS_IS, 1)
        try unsafe setOption(easy, CURLOPT_FOLLOWLOCATION, 0)
        try unsafe setOption(easy, CURLOPT_NETRC, 0)
        try unsafe setOption(easy, CURLOPT_NOSIGNAL, 1)
        // A resolver that hangs must not hold up the thread when its request is given up (libcurl 7.87 or newer).
        _ = unsafe ccurl_setopt_long(easy, CURLOPT_QUICK_EXIT, 1)
        try unsafe setOption(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        try unsafe setOption(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        try unsafe setOption(easy, CURLOPT_SSL_VERIFYPEER, 1)
        try unsafe setOption(easy, CURLOPT_SSL_VERIFYHOST, 2)
        if let trustStore { try unsafe setOption(easy, CURLOPT_CAINFO, trustStore.path) }
        try unsafe setCertificate(of: easy)
        try unsafe setProxy(of: easy)
    }

    /// Why an easy handle got no connection, safe to log.
    ///
    /// - Parameters:
    ///   - easy: the handle.
    ///   - problem: libcurl's account of it.
    /// - Returns: the same, or what the proxy said instead of making a tunnel.
    func connectProblem(of easy: UnsafeMutableRawPointer, _ problem: String) -> String {
        guard let proxy else { return problem }
        var status = 0
        _ = unsafe ccurl_getinfo_long(easy, CURLINFO_HTTP_CONNECTCODE, &status)
        guard status >= 300 else { return "through proxy \(proxy): \(problem)" }
        return "proxy \(proxy) answers CONNECT with status \(status)"
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
        // An empty name means no proxy, and an empty list that no host goes without: https_proxy and no_proxy do not count.
        try unsafe setOption(easy, CURLOPT_PROXY, proxy?.description ?? "")
        try unsafe setOption(easy, CURLOPT_NOPROXY, "")
        guard proxy != nil else { return }
        try unsafe setOption(easy, CURLOPT_HTTPPROXYTUNNEL, 1)
        // Fields of the request are for the server alone, and those of the proxy's answer are none of the server's.
        try unsafe setOption(easy, CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        try unsafe setOption(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        try unsafe setOption(easy, CURLOPT_PROXY_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        try unsafe setOption(easy, CURLOPT_PROXY_SSL_VERIFYPEER, 1)
        try unsafe setOption(easy, CURLOPT_PROXY_SSL_VERIFYHOST, 2)
        if let trustStore { try unsafe setOption(easy, CURLOPT_PROXY_CAINFO, trustStore.path) }
    }
}
