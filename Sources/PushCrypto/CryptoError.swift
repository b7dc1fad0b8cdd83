internal import COpenSSL

/// The failure of an OpenSSL operation.
public struct CryptoError: Error, Equatable, CustomStringConvertible {
    /// The operation that failed.
    public let operation: String

    /// OpenSSL's reasons, newest first; they contain no key material.
    public let reasons: [String]

    /// Empties this thread's OpenSSL error queue into the error, so that a later call does not report its entries.
    init(_ operation: String) {
        self.operation = operation
        reasons = drainOpenSSLErrors()
    }

    /// One line for the operator.
    public var description: String {
        let why = reasons.isEmpty ? "no reason given" : reasons.joined(separator: "; ")
        return "\(operation): OpenSSL failed: \(why)"
    }
}

/// Empties this thread's OpenSSL error queue.
///
/// - Returns: the reasons, newest first.
func drainOpenSSLErrors() -> [String] {
    var reasons: [String] = []
    while true {
        let code = ERR_get_error()
        guard code != 0 else { return reasons.reversed() }
        if let text = unsafe ERR_reason_error_string(code) {
            reasons.append(unsafe String(cString: text))
        } else {
            reasons.append("error \(code)")
        }
    }
}
