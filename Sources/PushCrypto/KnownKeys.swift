internal import Threading

/// The signing keys in use, by the digest of their PEM text.
///
/// OpenSSL 3.0 takes 0.7 ms to decode a key, which for 5,000 apps is 3.5 s at each reload of the configuration.
enum KnownKeys {
    private struct Name: Hashable {
        /// The SHA-256 of the PEM text.
        let digest: [UInt8]
        let algorithm: SigningKey.Algorithm
    }

    private struct Entry {
        weak var key: SigningKey?
    }

    private struct State {
        var entries: [Name: Entry] = [:]
        /// The number of entries above which those of released keys are removed.
        var limit = 64
    }

    private static let state = Locked(State())

    /// Returns the key of a PEM text; decodes it unless that key is still in use.
    ///
    /// - Parameters:
    ///   - pem: the text.
    ///   - algorithm: the algorithm to sign with.
    ///   - decode: decodes and checks it.
    /// - Returns: the key.
    /// - Throws: what `decode` throws; nothing is cached then.
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
