/// The reason why a transport cannot be created.
///
/// Failures of requests are reported as ``Fate``, not as errors.
public struct TransportError: Error, Equatable, CustomStringConvertible {
    /// The kind of problem.
    public enum Reason: Equatable, Sendable {
        /// The CA file is missing, unreadable or holds no certificate.
        case caFile(path: String, problem: String)
        /// The installed libcurl has no HTTP/2 or no TLS.
        case libcurl(version: String, lacks: String)
        /// The client certificate cannot be used.
        case clientCertificate(problem: String)
        /// The proxy's password cannot be read.
        case proxyPassword(problem: String)
        /// A call of a library or of the system failed.
        case call(String, problem: String)
    }

    /// The kind of problem.
    public let reason: Reason

    /// Creates an error.
    ///
    /// - Parameter reason: the kind of problem; its texts must be safe to log.
    public init(reason: Reason) { self.reason = reason }

    /// Returns the error for a CA file that is unusable.
    ///
    /// - Parameters:
    ///   - path: the path of the file.
    ///   - problem: the problem with the file.
    /// - Returns: the error.
    public static func caFile(_ path: String, _ problem: String) -> TransportError {
        TransportError(reason: .caFile(path: path, problem: problem))
    }

    /// One line for the operator, with the remedy.
    public var description: String {
        switch reason {
        case .caFile(let path, let problem):
            "CA file \(path): \(problem); give a PEM file with the certificates to trust"
        case .libcurl(let version, let lacks):
            "libcurl \(version) has no \(lacks); install a build that has it (Debian: libcurl4)"
        case .clientCertificate(let problem):
            "client certificate: \(problem)"
        case .proxyPassword(let problem):
            "the proxy's password: \(problem)"
        case .call(let call, let problem):
            "\(call): \(problem)"
        }
    }
}
