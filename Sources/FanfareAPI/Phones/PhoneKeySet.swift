internal import FanfareCore
internal import PushCrypto

/// The keys of an app, as its JSON Web Key Set (RFC 7517) has them; what is weak or meant for something else is refused as a whole.
struct PhoneKeySet: Sendable {
    /// How many there may be; two or three are there while they are changed.
    static let limit = 32
    /// The fewest bytes of a secret: as many as HMAC-SHA-256 gives.
    static let shortestSecret = 32

    /// In the order of the file; at least one.
    let keys: [PhoneKey]

    /// Finds the key of a token.
    ///
    /// - Parameter id: the token's `kid`; nil if it has none.
    /// - Returns: nil if there is none, or the token would have to say which.
    func key(_ id: String?) -> PhoneKey? {
        guard let id else { return keys.count == 1 ? keys[0] : nil }
        return keys.first { $0.id == id }
    }

    /// Reads a key set.
    ///
    /// - Parameter bytes: the file.
    /// - Throws: what is wrong, without a word of the key.
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

    /// Whether a file holds nothing that others must not know; of what cannot be read nobody knows.
    ///
    /// - Parameter bytes: the file.
    /// - Returns: whether everybody may read it.
    static func isPublic(_ bytes: [UInt8]) -> Bool {
        guard let entries = try? entries(bytes) else { return false }
        return entries.allSatisfy { $0["k"] == nil && $0["d"] == nil }
    }

    private static let form = #"It looks like {"keys": [{"kty": "oct", "kid": "1", "k": "…"}]}."#

    private static func entries(_ bytes: [UInt8]) throws(PhoneKeyError) -> [JSONValue] {
        // What the parser says may quote what it read.
        guard let document = try? JSONValue(parsing: bytes) else {
            throw PhoneKeyError("is no JSON", mend: form)
        }
        guard let entries = document["keys"]?.arrayValue else {
            throw PhoneKeyError("is no JSON Web Key Set: it has no list `keys`", mend: form)
        }
        return entries
    }
}

/// Why keys are not taken.
struct PhoneKeyError: Error {
    let reason: String
    /// How to fix it.
    let mend: String

    init(_ reason: String, mend: String) {
        (self.reason, self.mend) = (reason, mend)
    }
}
