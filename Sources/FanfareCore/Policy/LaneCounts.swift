/// Slots by lane.
struct LaneCounts: Equatable, Sendable {
    var transactional = 0
    var normal = 0
    var bulk = 0

    /// All lanes together.
    var total: Int { transactional + pooled }
    /// The lanes that leave a quarter to the transactional one.
    var pooled: Int { normal + bulk }

    subscript(lane: Lane) -> Int {
        get {
            switch lane {
            case .transactional: transactional
            case .normal: normal
            case .bulk: bulk
            }
        }
        set {
            switch lane {
            case .transactional: transactional = newValue
            case .normal: normal = newValue
            case .bulk: bulk = newValue
            }
        }
    }

    /// How many more slots a lane may take of `limit`.
    ///
    /// - Parameters:
    ///   - lane: who asks.
    ///   - limit: all that may be held together.
    ///   - kept: what must stay free for bulk work, of which the asker has no part.
    /// - Returns: 0 or more.
    func room(for lane: Lane, limit: Int, keptForBulk kept: Int) -> Int {
        let free = limit - total - kept
        if lane == .transactional { return max(free, 0) }
        let pool = max(limit * 3 / 4, 1)
        return max(min(free, pool - pooled - kept), 0)
    }
}
