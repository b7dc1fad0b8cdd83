/// The key pair that identifies an application server to push services (RFC 8292).
///
/// Safe to share between threads.
public struct VAPIDKey: Sendable {
    /// The public key in the form of `applicationServerKey` in browsers: 65 bytes in base64url.
    public let publicKey: String

    private let key: SigningKey

    /// The maximum lifetime of a token (RFC 8292 section 2).
    public static let longestLifetime = Duration.seconds(24 * 60 * 60)

    private init(_ key: SigningKey) throws(CryptoError) {
        self.key = key
        publicKey = try Base64URL.encode(key.publicPoint())
    }

    /// Generates a new key pair.
    ///
    /// - Returns: the key pair. Subscriptions are bound to it, so it has to be kept.
    /// - Throws: ``CryptoError``.
    public static func generate() throws(CryptoError) -> VAPIDKey {
        try VAPIDKey(SigningKey.generateES256())
    }

    /// Reads a private key from a PEM file that only its owner may read.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - guardedFolders: folders below which the file's mode is not checked.
    /// - Returns: the key pair.
    /// - Throws: ``KeyError``, which says how to fix it.
    public static func load(pemFile path: String, guardedFolders: [String] = []) throws(KeyError) -> VAPIDKey {
        let key = try SigningKey.load(pemFile: path, expecting: .es256, guardedFolders: guardedFolders)
        do throws(CryptoError) {
            return try VAPIDKey(key)
        } catch {
            throw KeyError(reason: .malformed(error.reasons), source: path)
        }
    }

    /// Returns the private key as PKCS #8 in PEM.
    ///
    /// A secret: write it only to a file that its owner alone can read.
    ///
    /// - Returns: the text with its final line break.
    /// - Throws: ``CryptoError``.
    public func privateKeyPEM() throws(CryptoError) -> String {
        try key.privateKeyPEM()
    }

    /// Writes the private key to a new PEM file of mode 600.
    ///
    /// - Parameter path: the file, which must not exist yet, since subscriptions are lost with a key.
    /// - Throws: ``KeyError``, which says how to fix it.
    public func write(pemFile path: String) throws(KeyError) {
        let pem: String
        do throws(CryptoError) {
            pem = try privateKeyPEM()
        } catch {
            throw KeyError(reason: .malformed(error.reasons), source: path)
        }
        try KeyFile.create(path, Array(pem.utf8))
    }

    /// Returns the value of the `Authorization` field for one push service.
    ///
    /// Use one value for many requests, so that the service can cache its verification; Apple asks to renew it at most
    /// once an hour.
    ///
    /// - Parameters:
    ///   - origin: the service's origin: scheme, host, and port unless it is 443; no path and no final slash.
    ///   - subject: the contact for the service's operator, a `mailto:` or `https:` URI.
    ///   - issuedAt: the current time in seconds since 1970.
    ///   - lifetime: the lifetime; whole seconds, at most ``longestLifetime``.
    /// - Returns: `vapid t=…, k=…`. A credential: never logged.
    /// - Throws: ``CryptoError``.
    public func authorization(
        origin: String,
        subject: String,
        issuedAt: Int64,
        lifetime: Duration = .seconds(12 * 60 * 60)
    ) throws(CryptoError) -> String {
        precondition(
            lifetime > .zero && lifetime <= Self.longestLifetime,
            "VAPID tokens are valid for 24 hours at most"
        )
        let token = try JSONWebToken.sign(
            header: ["typ": "JWT"],
            claims: [
                "aud": .string(origin),
                "exp": .integer(issuedAt + lifetime.components.seconds),
                "sub": .string(subject),
            ],
            with: key
        )
        return "vapid t=\(token), k=\(publicKey)"
    }
}
