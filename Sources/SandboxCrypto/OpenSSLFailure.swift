internal import COpenSSL

/// An unexpected failure of an OpenSSL call.
package struct OpenSSLFailure: Error, CustomStringConvertible {
    /// The operation and OpenSSL's reason; holds no key material.
    package let description: String

    /// Creates the error from this thread's OpenSSL error queue, and empties the queue.
    init(_ operation: String) {
        let code = ERR_peek_last_error()
        let reason = unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) } ?? "no reason given"
        ERR_clear_error()
        description = "\(operation): OpenSSL failed: \(reason)"
    }
}
