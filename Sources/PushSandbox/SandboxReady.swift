/// The addresses and files of a started sandbox; `fanfare sandbox` prints it as one JSON line.
public struct SandboxReady: Codable, Sendable, Equatable {
    /// The port of the production environment, TLS with HTTP/2.
    public let tlsPort: Int
    /// The port of the APNs sandbox environment, TLS with HTTP/2.
    public let sandboxTLSPort: Int
    /// The port of the control interface, plain HTTP/1.1.
    public let controlPort: Int
    /// The absolute path of the sandbox's folder.
    public let dir: String
    /// The absolute path of the CA certificate that clients have to trust.
    public let caFile: String
    /// The absolute path of a Fanfare configuration that uses this sandbox.
    public let configFile: String
    /// The absolute path of the Google service account's JSON file, for FCM.
    public let serviceAccountFile: String
    /// The absolute path of the VAPID key, for Web Push.
    public let vapidKeyFile: String
    /// The public part of that key, as browsers get it: an uncompressed point in unpadded base64url.
    public let vapidPublicKey: String
    /// The absolute path of the client certificate for APNs with its key, PEM.
    public let certificateFile: String

    /// The origin of the production environment, which the endpoints of simulated subscriptions have.
    public var origin: String { Self.origin(port: tlsPort) }

    static func origin(port: Int) -> String { "https://localhost:\(port)" }

    enum CodingKeys: String, CodingKey {
        case tlsPort = "tls_port"
        case sandboxTLSPort = "sandbox_tls_port"
        case controlPort = "control_port"
        case dir
        case caFile = "ca_file"
        case configFile = "config_file"
        case serviceAccountFile = "service_account_file"
        case vapidKeyFile = "vapid_key_file"
        case vapidPublicKey = "vapid_public_key"
        case certificateFile = "certificate_file"
    }
}
