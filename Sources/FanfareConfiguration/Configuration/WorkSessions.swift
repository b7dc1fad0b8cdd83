/// What `database.connections` are spent on; control, the scheduler and foreign channels come on top.
///
/// The recorder, the claimer and the planner have one each, and the rest is the slicers'. The first slicer does the
/// maintenance too, unless there is a session more for that.
package struct WorkSessions: Equatable {
    /// What a daemon cannot do without.
    package static let least = 4

    /// Sessions that walk large audiences, each another one.
    package let slicers: Int
    /// Whether maintenance has a session of its own.
    package let isMaintenanceApart: Bool

    /// Spends connections.
    ///
    /// - Parameter connections: ``least`` or more.
    package init(connections: Int) {
        isMaintenanceApart = connections > Self.least
        slicers = max(1, connections - Self.least)
    }
}
