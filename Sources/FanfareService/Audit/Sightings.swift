internal import FanfareCore

/// Items that were present at every check for some time.
///
/// A queue that moves has different items at each check, however long it is; only stalled ones stay.
struct Sightings<Key: Hashable> {
    private let patience: Microseconds
    private var since: [Key: Microseconds] = [:]
    private var firstCheckAt: Microseconds?

    /// Creates empty sightings.
    ///
    /// - Parameter patience: how long an item has to be present.
    init(patience: Microseconds) {
        self.patience = patience
    }

    /// Records a check.
    ///
    /// - Parameters:
    ///   - keys: the items that are present now.
    ///   - now: steady time.
    /// - Returns: the items that were present at every check for at least `patience`.
    mutating func check(_ keys: [Key], at now: Microseconds) -> Set<Key> {
        firstCheckAt = firstCheckAt ?? now
        let before = since
        since = Dictionary(keys.map { ($0, before[$0] ?? now) }, uniquingKeysWith: { first, _ in first })
        return Set(since.filter { now - $0.value >= patience }.keys)
    }

    /// Returns whether the checks go back far enough to conclude that nothing is stalled.
    func isConclusive(at now: Microseconds) -> Bool {
        firstCheckAt.map { now - $0 >= patience } ?? false
    }
}
