internal import FanfareCore

/// What has been seen again at every look for some time.
///
/// A queue that moves shows others each time, however long it is: only what stands still stays.
struct Sightings<Key: Hashable> {
    private let patience: Microseconds
    private var since: [Key: Microseconds] = [:]
    private var firstCheckAt: Microseconds?

    /// Makes sightings of nothing.
    ///
    /// - Parameter patience: how long something has to be seen.
    init(patience: Microseconds) {
        self.patience = patience
    }

    /// Takes a look in.
    ///
    /// - Parameters:
    ///   - keys: all that is seen now.
    ///   - now: steady time.
    /// - Returns: which of them have been seen at every look for as long as the patience.
    mutating func check(_ keys: [Key], at now: Microseconds) -> Set<Key> {
        firstCheckAt = firstCheckAt ?? now
        let before = since
        since = Dictionary(keys.map { ($0, before[$0] ?? now) }, uniquingKeysWith: { first, _ in first })
        return Set(since.filter { now - $0.value >= patience }.keys)
    }

    /// Whether looks go back far enough to say that nothing stands still.
    func isConclusive(at now: Microseconds) -> Bool {
        firstCheckAt.map { now - $0 >= patience } ?? false
    }
}
