internal import CCurl

/// Why a transport cannot be made.
///
/// What happens to requests later is a fate, not an error.
public struct TransportError: Error, Equatable, CustomStringConvertible {
    /// What is wrong.
    public enum Reason: Equatable, Sendable {
        /// The CA file is missing, unreadable or holds no certificate.
        case caFile(path: String, problem: String)
        /// The installed libcurl has no HTTP/2 or no TLS.
        case libcurl(version: String, lacks: String)
        /// The client certificate cannot be handed to libcurl.
        case clientCertificate(problem: String)
        /// libcurl refused a call.
        case call(String, problem: String)
    }

    /// What is wrong.
    public let reason: Reason

    /// One line for the operator, with the mend.
    public var description: String {
        switch reason {
        case .caFile(let path, let problem):
            "CA file \(path): \(problem); give a PEM file with the certificates to trust"
        case .libcurl(let version, let lacks):
            "libcurl \(version) has no \(lacks); install a build that has it (Debian: libcurl4)"
        case .clientCertificate(let problem):
            "client certificate: \(problem)"
        case .call(let call, let problem):
            "libcurl: \(call): \(problem)"
        }
    }
}

extension TransportError {
    /// The CA file is of no use.
    static func caFile(_ path: String, _ problem: String) -> TransportError {
        TransportError(reason: .caFile(path: path, problem: problem))
    }
}

/// Turns the status of a curl_easy call into an error; left alone Swift would drop it without a word.
func check(_ call: StaticString, _ code: CURLcode) throws(TransportError) {
    guard code != CURLE_OK else { return }
    throw TransportError(reason: .call("\(call)", problem: describe(code)))
}

/// Turns the status of a curl_multi call into an error.
func check(_ call: StaticString, _ code: CURLMcode) throws(TransportError) {
    guard code != CURLM_OK else { return }
    let text = unsafe curl_multi_strerror(code).map { unsafe String(cString: $0) }
    throw TransportError(reason: .call("\(call)", problem: text ?? "error \(code.rawValue)"))
}

/// What libcurl calls an error.
func describe(_ code: CURLcode) -> String {
    unsafe curl_easy_strerror(code).map { unsafe String(cString: $0) } ?? "error \(code.rawValue)"
}
