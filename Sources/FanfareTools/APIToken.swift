internal import PushCrypto

/// A token of the HTTP API in clear: only where it is made, and where somebody asks with it.
///
/// `ff_ID_SECRET_SUM`: the prefix and the sum let scanners find one that leaked, and one that is mistyped or made up is refused without
/// asking the database.
public struct APIToken: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// Which row it belongs to.
    public let id: Int32
    private let secret: String

    /// Puts a token together.
    ///
    /// - Parameters:
    ///   - id: which row it belongs to.
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

    /// Reads what somebody asks with.
    ///
    /// - Parameter text: of any form.
    public init?(parsing text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard text.utf8.count <= 128, parts.count == 4, parts[0] == "ff", let id = Int32(parts[1]), id > 0,
            parts[2].utf8.count == 64, Self.sum(of: "ff_\(id)_\(parts[2])") == parts[3]
        else { return nil }
        self.init(id: id, secret: String(parts[2]))
    }

    /// The whole token: shown once, and never logged.
    public var text: String {
        let front = "ff_\(id)_\(secret)"
        return "\(front)_\(Self.sum(of: front))"
    }

    /// SHA-256 of the secret: what is kept.
    var secretHash: [UInt8] { Self.hash(of: secret) }

    static func hash(of secret: String) -> [UInt8] { sha256(Array(secret.utf8)) }

    /// Whether this is the token whose hash is kept; takes the same time whatever it differs in.
    ///
    /// - Parameter hash: the kept one; 32 bytes.
    /// - Returns: whether it is.
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
