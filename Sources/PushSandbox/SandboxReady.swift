/// Where a started sandbox is to be found; `fanfare sandbox` prints it as one JSON line.
public struct SandboxReady: Codable, Sendable, Equatable {
    /// Port of the production environment, TLS with HTTP/2.
    public let tlsPort: Int
    /// Port of the APNs sandbox environment, TLS with HTTP/2.
    public let sandboxTLSPort: Int
    /// Port of the control interface, plain HTTP/1.1.
    public let controlPort: Int
    /// Absolute path of the sandbox's folder.
    public let dir: String
    /// Absolute path of the CA certificate that clients have to trust.
    public let caFile: String
    /// Absolute path of a Fanfare configuration that uses this sandbox.
    public let configFile: String

    enum CodingKeys: String, CodingKey {
        case tlsPort = "tls_port"
        case sandboxTLSPort = "sandbox_tls_port"
        case controlPort = "control_port"
        case dir
        case caFile = "ca_file"
        case configFile = "config_file"
    }
}
