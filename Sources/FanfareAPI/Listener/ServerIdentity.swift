internal import FanfareConfiguration
internal import FanfareTools
internal import NIOSSL

/// Who the server is by TLS.
enum ServerIdentity {
    /// Reads certificate and key.
    ///
    /// - Parameters:
    ///   - settings: name the files.
    ///   - environment: variables of the process, for `CREDENTIALS_DIRECTORY`.
    /// - Returns: TLS 1.2 or newer; nil where none is configured.
    /// - Throws: ``ToolError`` of kind `configuration`.
    static func read(
        _ settings: Configuration.API,
        environment: [String: String]
    ) throws(ToolError) -> TLSConfiguration? {
        guard let certificateFile = settings.certificateFile, let keyFile = settings.keyFile else { return nil }
        let keyBytes: [UInt8]
        do {
            keyBytes = try PasswordFile(environment: environment).bytes(at: keyFile, for: "api.key_file")
        } catch {
            throw ToolError(error)
        }
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(certificateFile)
            guard !chain.isEmpty else { throw unusable("api.certificate_file", certificateFile) }
            let key = try NIOSSLPrivateKey(bytes: keyBytes, format: .pem)
            var tls = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) },
                privateKey: .privateKey(key)
            )
            tls.minimumTLSVersion = .tlsv12
            // Whether the two belong together is only looked at here.
            _ = try NIOSSLContext(configuration: tls)
            return tls
        } catch let error as ToolError {
            throw error
        } catch {
            throw unusable("api.certificate_file and api.key_file", "\(certificateFile), \(keyFile)")
        }
    }

    private static func unusable(_ key: String, _ file: String) -> ToolError {
        ToolError(
            .configuration,
            "\(key): \(file): no certificate and key that can be used together",
            hint: "Name a PEM file with the certificate and those between it and its CA, and one with its private key."
        )
    }
}
