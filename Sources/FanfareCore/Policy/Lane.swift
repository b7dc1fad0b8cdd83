/// The lanes of sending, which keep a broadcast from delaying single pushes.
///
/// The raw value is stored with batches.
public enum Lane: Int16, CaseIterable, Sendable {
    /// Single pushes that a user waits for: sent first, with a quarter of the in-flight budget reserved.
    case transactional = 0
    /// The default.
    case normal = 1
    /// Broadcasts and campaigns: at least 5 % of the budget.
    case bulk = 2
}
