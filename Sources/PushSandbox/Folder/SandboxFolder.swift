import Crypto
import Foundation

/// The files of a sandbox; what an earlier start left is used again.
struct SandboxFolder {
    /// Absolute path.
    let path: String
    let lock: FolderLock
    let server: CertificateAuthority.Identity
    /// What provider tokens are verified with.
    let apnsKey: P256.Signing.PublicKey

    var caFile: String { path + "/ca.pem" }
    var configFile: String { path + "/fanfare.yaml" }
    var ledgerFile: String { path + "/received.jsonl" }

    /// Takes the folder for itself, making what is missing: CA, server certificate and APNs key.
    ///
    /// - Parameter options: where it is and what the APNs key is called.
    /// - Returns: the folder, complete but for the configuration.
    /// - Throws: `SandboxError` naming the file that cannot be used.
    static func open(_ options: SandboxOptions) throws -> SandboxFolder {
        let path = URL(fileURLWithPath: options.directory, isDirectory: true).standardizedFileURL.path
        let files = FolderFiles(path: path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path)
        try files.makeDirectory()
        let lock = try FolderLock(files.path)
        let authority = try files.identity(certificate: "ca.pem", key: "ca-key.pem") {
            try CertificateAuthority.makeAuthority()
        }
        var server = try files.identity(certificate: "server.pem", key: "server-key.pem") {
            try CertificateAuthority.makeServer(signedBy: authority)
        }
        if !CertificateAuthority.isUsable(server, signedBy: authority) {
            server = try CertificateAuthority.makeServer(signedBy: authority)
            try files.write(server, certificate: "server.pem", key: "server-key.pem")
        }
        let key = try apnsKey(in: files, keyID: options.keyID)
        return SandboxFolder(path: files.path, lock: lock, server: server, apnsKey: key.publicKey)
    }

    /// The PKCS#8 key of the APNs credential.
    private static func apnsKey(in files: FolderFiles, keyID: String) throws -> P256.Signing.PrivateKey {
        let name = "AuthKey_\(keyID).p8"
        if let pem = try files.read(name) {
            guard let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) else {
                throw SandboxError(
                    .folder,
                    "\(files.path)/\(name) is no PEM file of an EC P-256 key; remove it to have a new one made"
                )
            }
            return key
        }
        let key = P256.Signing.PrivateKey()
        try files.write(key.pemRepresentation + "\n", to: name, secret: true)
        return key
    }

    /// Writes the configuration of a daemon that pushes to this sandbox, replacing that of an earlier start.
    ///
    /// - Parameters:
    ///   - options: app name, credential and database.
    ///   - ports: the production and the sandbox environment's.
    /// - Throws: `SandboxError` naming the file.
    func writeConfiguration(_ options: SandboxOptions, ports: (production: Int, sandbox: Int)) throws {
        var lines = ["# Written by the Fanfare sandbox at each start: ports change, edits are lost."]
        if let url = options.databaseURL {
            lines += ["database:", "  url: \(quoted(url))"]
        }
        lines += [
            "apps:",
            "  \(quoted(options.appName)):",
            "    apns:",
            "      team_id: \(quoted(options.teamID))",
            "      key_id: \(quoted(options.keyID))",
            "      key_file: \(quoted("AuthKey_\(options.keyID).p8"))",
            "      topic: \(quoted(options.topics.first ?? ""))",
            "      endpoint: https://localhost:\(ports.production)",
            "      sandbox_endpoint: https://localhost:\(ports.sandbox)",
            "      ca_file: ca.pem",
        ]
        // The database URL may hold a password.
        try FolderFiles(path: path)
            .write(lines.joined(separator: "\n") + "\n", to: "fanfare.yaml", secret: true)
    }

    /// A YAML double-quoted scalar; JSON strings are a subset of those.
    private func quoted(_ text: String) -> String {
        var line = JSONLine()
        line.append(string: text)
        return String(decoding: line.bytes, as: UTF8.self)
    }
}
