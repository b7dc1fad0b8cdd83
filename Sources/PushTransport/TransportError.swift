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
        /// The client certificate cannot be used.
        case clientCertificate(problem: String)
        /// A library or the system refused a call.
        case call(String, problem: String)
    }

    /// What is wrong.
    public let reason: Reason

    /// Makes an error.
    ///
    /// - Parameter reason: what is wrong; its texts must be safe to log.
    public init(reason: Reason) { self.reason = reason }

    /// The CA file is of no use.
    ///
    /// - Parameters:
    ///   - path: which file.
    ///   - problem: what is wrong with it.
    /// - Returns: the error.
    public static func caFile(_ path: String, _ problem: String) -> TransportError {
        TransportError(reason: .caFile(path: path, problem: problem))
    }

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
            "\(call): \(problem)"
        }
    }
}
