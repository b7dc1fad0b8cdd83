internal import FanfareCore
internal import PushCrypto

/// The keys in an app's JSON Web Key Set (RFC 7517); a set with a weak key, or one for another use, is refused as a
/// whole.
struct PhoneKeySet: Sendable {
    /// The most keys of a set; during a key rotation there are two or three.
    static let limit = 32
    /// The shortest secret, in bytes: the output length of HMAC-SHA-256.
    static let shortestSecret = 32

    /// The keys in the order of the file; at least one.
    let keys: [PhoneKey]

    /// Finds the key of a token.
    ///
    /// - Parameter id: the token's `kid`; nil if it has none.
    /// - Returns: nil if there is no such key, or if the token has no `kid` and there are several keys.
    func key(_ id: String?) -> PhoneKey? {
        guard let id else { return keys.count == 1 ? keys[0] : nil }
        return keys.first { $0.id == id }
    }

    /// Parses a key set.
    ///
    /// - Parameter bytes: the file.
    /// - Throws: the reason why it is refused, without any key material.
    init(parsing bytes: [UInt8]) throws(PhoneKeyError) {
        let entries = try Self.entries(bytes)
        guard (1...Self.limit).contains(entries.count) else {
            throw PhoneKeyError("has \(entries.count) keys, not 1 to \(Self.limit)", mend: Self.form)
        }
        var keys: [PhoneKey] = []
        for (index, entry) in entries.enumerated() {
            guard let members = entry.objectValue else {
                throw PhoneKeyError("key \(index + 1) is \(entry.kindName), not an object", mend: Self.form)
            }
            do throws(PhoneKeyError) {
                keys.append(try Self.key(members))
            } catch {
                throw PhoneKeyError("key \(index + 1) \(error.reason)", mend: error.mend)
            }
        }
        let ids = keys.compactMap(\.id)
        guard Set(ids).count == ids.count else {
            throw PhoneKeyError("two keys have the same kid", mend: "Give each key a kid of its own.")
        }
        guard keys.count == 1 || ids.count == keys.count else {
            throw PhoneKeyError(
                "has several keys, and not each has a kid",
                mend: "Give each key a kid, by which tokens name it."
            )
        }
        self.keys = keys
    }

    /// Returns whether a file holds no secrets and no private keys.
    ///
    /// - Parameter bytes: the file.
    /// - Returns: whether other users may read it; false if it cannot be parsed.
    static func isPublic(_ bytes: [UInt8]) -> Bool {
        guard let entries = try? entries(bytes) else { return false }
        return entries.allSatisfy { $0["k"] == nil && $0["d"] == nil }
    }

    private static let form = #"It looks like {"keys": [{"kty": "oct", "kid": "1", "k": "…"}]}."#

    private static func entries(_ bytes: [UInt8]) throws(PhoneKeyError) -> [JSONValue] {
        // The parser's error may quote key material.
        guard let document = try? JSONValue(parsing: bytes) else {
            throw PhoneKeyError("is not JSON", mend: form)
        }
        guard let entries = document["keys"]?.arrayValue else {
            throw PhoneKeyError("is not a JSON Web Key Set: it has no list `keys`", mend: form)
        }
        return entries
    }
}

/// The reason why keys are refused.
struct PhoneKeyError: Error {
    let reason: String
    /// How to fix it.
    let mend: String

    init(_ reason: String, mend: String) {
        (self.reason, self.mend) = (reason, mend)
    }
}
