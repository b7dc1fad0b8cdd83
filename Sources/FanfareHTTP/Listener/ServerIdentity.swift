internal import FanfareConfiguration
internal import FanfareDaemon
internal import FanfareLogging
internal import FanfareTools
internal import Logging
internal import NIOCore
internal import NIOSSL

/// The server's TLS identity: its certificate chain and the private key of the first certificate.
struct ServerIdentity: Sendable {
    private let chain: [NIOSSLCertificate]
    private let key: NIOSSLPrivateKey

    /// Reads certificate and key, and reloads them for new connections after the files change.
    ///
    /// - Parameters:
    ///   - settings: the names of the files.
    ///   - daemon: provides the environment, for `CREDENTIALS_DIRECTORY`, and the log.
    ///   - interval: how often the files are checked.
    /// - Returns: a configuration for TLS 1.2 or newer; nil if none is configured.
    /// - Throws: ``ToolError`` of kind `configuration`. A later reload that fails is logged, and the previous identity
    ///   stays.
    static func open(
        _ settings: Configuration.API,
        _ daemon: ListenedDaemon,
        every interval: Duration
    ) throws(ToolError) -> TLSConfiguration? {
        guard let certificateFile = settings.certificateFile, let keyFile = settings.keyFile else { return nil }
        let identity = Reread(
            [certificateFile, keyFile],
            every: interval,
            before: nil,
            read: { () throws(ToolError) in
                try read(certificateFile, keyFile, environment: daemon.environment)
            },
            told: { log($0, daemon.logger) }
        )
        try identity.readNow()
        guard let first = identity.kept else { return nil }
        var tls = first.configuration
        tls.sslContextCallback = { _, promise in
            // On another thread than the handshake's, because the handshake would take errors of reading for its own.
            promise.completeWithTask {
                var fresh = NIOSSLContextConfigurationOverride.noChanges
                if let identity = identity.value {
                    fresh.certificateChain = identity.chain.map { .certificate($0) }
                    fresh.privateKey = .privateKey(identity.key)
                }
                return fresh
            }
        }
        return tls
    }

    private static func read(
        _ certificateFile: String,
        _ keyFile: String,
        environment: [String: String]
    ) throws(ToolError) -> ServerIdentity {
        let keyBytes: [UInt8]
        do {
            keyBytes = try PasswordFile(environment: environment).bytes(at: keyFile, for: "api.key_file")
        } catch {
            throw ToolError(error)
        }
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(certificateFile)
            guard !chain.isEmpty else { throw unusable("api.certificate_file", certificateFile) }
            let identity = ServerIdentity(chain: chain, key: try NIOSSLPrivateKey(bytes: keyBytes, format: .pem))
            // Only creating a context checks that certificate and key belong together.
            _ = try NIOSSLContext(configuration: identity.configuration)
            return identity
        } catch let error as ToolError {
            throw error
        } catch {
            throw unusable("api.certificate_file and api.key_file", "\(certificateFile), \(keyFile)")
        }
    }

    private var configuration: TLSConfiguration {
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
        tls.minimumTLSVersion = .tlsv12
        tls.cipherSuiteValues = Self.ciphers
        return tls
    }

    /// The cipher suites of TLS 1.2, without CBC; TLS 1.3 keeps all of its own.
    private static let ciphers: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]

    private static func log(_ error: ToolError?, _ logger: Logger) {
        guard let error else {
            logger.notice("certificate reloaded")
            return
        }
        logger.error(
            "certificate not reloaded; the previous one stays in use",
            metadata: .init([.error: "\(error.reason)", .hint: "\(error.hint)"])
        )
    }

    private static func unusable(_ key: String, _ file: String) -> ToolError {
        ToolError(
            .configuration,
            "\(key): \(file): no certificate and key that can be used together",
            hint: "Name a PEM file with the certificate and those between it and its CA, and one with its private key."
        )
    }
}
