/// The 64-bit key under which newer events supersede older ones: a hash of rule, rendered `to` and rendered
/// `collapse` (`batches.collapse_keys`).
public struct CollapseKey: RawRepresentable, Hashable, Sendable {
    /// The value in the database.
    public let rawValue: Int64

    /// Wraps a key from the database.
    ///
    /// - Parameter rawValue: the key.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Derives the key.
    ///
    /// - Parameters:
    ///   - ruleID: the rule's id.
    ///   - audience: the rendered `to`.
    ///   - collapse: the rendered `collapse`.
    public init(ruleID: Int64, audience: String, collapse: String) {
        var bytes: [UInt8] = []
        // The length prefix distinguishes ("ab", "c") from ("a", "bc").
        bytes.append(contentsOf: "\(audience.utf8.count):".utf8)
        bytes.append(contentsOf: audience.utf8)
        bytes.append(contentsOf: collapse.utf8)
        rawValue = Int64(bitPattern: Murmur3.hash(bytes, seed: UInt64(bitPattern: ruleID)).0)
    }
}
