import Foundation
import SandboxCrypto

/// The files of a sandbox; those of an earlier start are used again.
struct SandboxFolder {
    /// The absolute path.
    let path: String
    let lock: FolderLock
    let authority: CertificateAuthority.Identity
    let server: CertificateAuthority.Identity
    /// The key that verifies provider tokens.
    let apnsKey: P256PublicKey
    let serviceAccount: ServiceAccount
    /// The key that simulated subscriptions are restricted to, an uncompressed point.
    let vapidPublicKey: Data
    /// The secret from which the keys of simulated browsers are derived.
    let subscriberSecret: Data

    var caFile: String { path(of: "ca.pem") }
    var configFile: String { path(of: "fanfare.yaml") }
    var ledgerFile: String { path(of: "received.jsonl") }

    /// Returns the absolute path of a file.
    func path(of name: String) -> String { path + "/" + name }

    /// Locks the folder, and creates missing files: CA, server certificate and all credentials.
    ///
    /// - Parameter options: the folder's path and the names in the credentials.
    /// - Returns: the folder, complete except for the files that name the ports.
    /// - Throws: `SandboxError` naming the file that cannot be used.
    static func open(_ options: SandboxOptions) throws -> SandboxFolder {
        let path = URL(fileURLWithPath: options.directory, isDirectory: true).standardizedFileURL.path
        let files = FolderFiles(path: path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path)
        try files.makeDirectory()
        let lock = try FolderLock(files.path)
        let authority = try files.identity(certificate: "ca.pem", key: "ca-key.pem") {
            try CertificateAuthority.makeAuthority()
        }
        let server = try files.identity(
            certificate: "server.pem",
            key: "server-key.pem",
            isUsable: { CertificateAuthority.isUsable($0, signedBy: authority) },
            make: { try CertificateAuthority.makeServer(signedBy: authority) }
        )
        try files.makeAPNsCertificate(bundleID: options.topics.first ?? "", signedBy: authority)
        return SandboxFolder(
            path: files.path,
            lock: lock,
            authority: authority,
            server: server,
            apnsKey: try files.signingKey("AuthKey_\(options.keyID).p8").publicKey,
            serviceAccount: try files.serviceAccount(options.projectID),
            vapidPublicKey: Data(try files.signingKey(FileName.vapidKey).publicKey.point),
            subscriberSecret: try files.secret("subscribers.secret")
        )
    }

    /// Reads the CA, which signs client certificates too.
    func authorityCertificate() throws -> Certificate {
        guard let certificate = Certificate.read(pem: authority.certificate) else {
            throw SandboxError(.folder, "\(caFile) is not a certificate; remove it to have a new one made")
        }
        return certificate
    }

    /// The names of the files that configurations refer to.
    enum FileName {
        static let serviceAccount = "service-account.json"
        static let vapidKey = "vapid.pem"
        static let certificate = "apns-certificate.pem"
    }
}

extension FolderFiles {
    /// Reads or creates a PKCS#8 key on P-256: the APNs credential's, or VAPID's.
    fileprivate func signingKey(_ name: String) throws -> P256PrivateKey {
        try key(name, kind: "PEM file of an EC P-256 key") {
            P256PrivateKey(pem: $0)
        } make: {
            let key = try P256PrivateKey()
            return (key, try key.pem())
        }
    }

    /// Reads or creates the service account; its file names a port, so only the key is kept between starts.
    fileprivate func serviceAccount(_ projectID: String) throws -> ServiceAccount {
        let key = try key("service-account-key.pem", kind: "PEM file of an RSA key of 2048 bits or more") {
            RSAKey(pem: $0)
        } make: {
            let key = try RSAKey()
            return (key, try key.pem())
        }
        let digest = Hashing.hash(try key.publicKeyDER())
        let keyID = digest.prefix(20).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
        return ServiceAccount(projectID: projectID, keyID: keyID, key: key, keyPEM: try key.pem())
    }

    /// Reads or creates 32 random bytes.
    fileprivate func secret(_ name: String) throws -> Data {
        try key(name, kind: "secret of 32 bytes in base64url") { text in
            Data(base64URL: text[...]).flatMap { $0.count == 32 ? $0 : nil }
        } make: {
            let secret = Data((0..<32).map { _ in UInt8.random(in: 0...255) })
            return (secret, secret.base64URL)
        }
    }

    /// Creates the client certificate for APNs with its key, as PEM.
    fileprivate func makeAPNsCertificate(
        bundleID: String,
        signedBy authority: CertificateAuthority.Identity
    ) throws {
        let name = SandboxFolder.FileName.certificate
        if let pem = try read(name),
            CertificateAuthority.isUsableAPNsClient(pem, bundleID: bundleID, signedBy: authority)
        {
            return
        }
        let identity = try CertificateAuthority.makeAPNsClient(bundleID: bundleID, signedBy: authority)
        try write(identity.certificate + "\n" + identity.key + "\n", to: name, secret: true)
    }
}
