/// The number of slots by lane.
struct LaneCounts: Equatable, Sendable {
    var transactional = 0
    var normal = 0
    var bulk = 0

    /// The slots of all lanes.
    var total: Int { transactional + pooled }
    /// The slots of the lanes that leave a quarter to the transactional lane.
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

    /// Returns how many more slots of `limit` a lane may take.
    ///
    /// - Parameters:
    ///   - lane: the lane.
    ///   - limit: the limit of slots for all lanes together.
    ///   - kept: the slots reserved for other bulk work.
    /// - Returns: 0 or more.
    func room(for lane: Lane, limit: Int, keptForBulk kept: Int) -> Int {
        let free = limit - total - kept
        if lane == .transactional { return max(free, 0) }
        let pool = max(limit * 3 / 4, 1)
        return max(min(free, pool - pooled - kept), 0)
    }
}
