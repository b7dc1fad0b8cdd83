/// The lanes of sending: a broadcast never delays a one-off.
///
/// The raw value is stored with batches.
public enum Lane: Int16, CaseIterable, Sendable {
    /// One-offs somebody waits for: first, with a quarter of W kept for them.
    case transactional = 0
    /// The default.
    case normal = 1
    /// Broadcasts and campaigns: at least 5 %.
    case bulk = 2
}
