internal import COpenSSL

/// OpenSSL could not do what it always can.
package struct OpenSSLFailure: Error, CustomStringConvertible {
    /// What was tried, and OpenSSL's reason; holds no key material.
    package let description: String

    /// Takes over and empties this thread's OpenSSL error queue.
    init(_ operation: String) {
        let code = ERR_peek_last_error()
        let reason = unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) } ?? "no reason given"
        ERR_clear_error()
        description = "\(operation): OpenSSL failed: \(reason)"
    }
}
