internal import Threading

/// The signing keys that are in use, by what they were read from: to decode one takes OpenSSL 3.0 0.7 ms, which a daemon with
/// thousands of apps would spend on each of them whenever its configuration is reloaded.
enum KnownKeys {
    private struct Name: Hashable {
        /// SHA-256 of the PEM text.
        let digest: [UInt8]
        let algorithm: SigningKey.Algorithm
    }

    private struct Entry {
        weak var key: SigningKey?
    }

    private struct State {
        var entries: [Name: Entry] = [:]
        /// So many entries are kept before those are dropped whose keys are gone.
        var limit = 64
    }

    private static let state = Locked(State())

    /// The key of a PEM text, decoded unless somebody holds it.
    ///
    /// - Parameters:
    ///   - pem: the text.
    ///   - algorithm: what it signs with.
    ///   - decode: decodes and checks it.
    /// - Returns: the key.
    /// - Throws: what `decode` throws; nothing is remembered then.
    static func key(
        _ pem: borrowing [UInt8],
        _ algorithm: SigningKey.Algorithm,
        decode: (borrowing [UInt8]) throws(KeyError) -> SigningKey
    ) throws(KeyError) -> SigningKey {
        let name = Name(digest: sha256(pem), algorithm: algorithm)
        if let key = state.withLock({ $0.entries[name]?.key }) { return key }
        let key = try decode(pem)
        state.withLock { state in
            state.entries[name] = Entry(key: key)
            guard state.entries.count > state.limit else { return }
            state.entries = state.entries.filter { $0.value.key != nil }
            state.limit = max(64, 2 * state.entries.count)
        }
        return key
    }
}
