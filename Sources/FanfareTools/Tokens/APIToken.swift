internal import PushCrypto

/// A token of the HTTP API in clear: exists only where a token is created and where a request is authenticated.
///
/// The form is `ff_ID_SECRET_SUM`. Secret scanners find a leaked token by its prefix and its checksum, and a mistyped
/// or invented token is refused without a database query.
public struct APIToken: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The id of the token's row.
    public let id: Int32
    private let secret: String

    /// Assembles a token.
    ///
    /// - Parameters:
    ///   - id: the id of the token's row.
    ///   - secret: hexadecimal, from ``newSecret()``.
    init(id: Int32, secret: String) {
        (self.id, self.secret) = (id, secret)
    }

    /// 32 random bytes in hexadecimal.
    ///
    /// - Throws: ``ToolError`` if the system has no randomness to give.
    static func newSecret() throws(ToolError) -> String {
        do {
            return hexadecimal(try randomBytes(32))
        } catch {
            throw ToolError(error)
        }
    }

    /// Parses the token of a request.
    ///
    /// - Parameter text: any text.
    public init?(parsing text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard text.utf8.count <= 128, parts.count == 4, parts[0] == "ff", let id = Int32(parts[1]), id > 0,
            parts[2].utf8.count == 64, Self.sum(of: "ff_\(id)_\(parts[2])") == parts[3]
        else { return nil }
        self.init(id: id, secret: String(parts[2]))
    }

    /// The complete token: shown once, and never logged.
    public var text: String {
        let front = "ff_\(id)_\(secret)"
        return "\(front)_\(Self.sum(of: front))"
    }

    /// The SHA-256 hash of the secret, which the database stores.
    var secretHash: [UInt8] { Self.hash(of: secret) }

    static func hash(of secret: String) -> [UInt8] { sha256(Array(secret.utf8)) }

    /// Compares the secret with a stored hash, in constant time.
    ///
    /// - Parameter hash: the stored hash; 32 bytes.
    /// - Returns: whether the token has this hash.
    public func matches(_ hash: [UInt8]) -> Bool {
        let own = secretHash
        guard own.count == hash.count else { return false }
        return zip(own, hash).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// Without the secret.
    public var description: String { "ff_\(id)_…" }
    /// Without the secret.
    public var debugDescription: String { description }

    private static func sum(of text: String) -> String { hexadecimal(sha256(Array(text.utf8)).prefix(4)) }

    private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
