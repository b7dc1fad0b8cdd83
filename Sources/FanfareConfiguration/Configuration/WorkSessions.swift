/// The use of `database.connections`; control, the scheduler and foreign channels need additional sessions.
///
/// The recorder, the claimer and the planner have one session each, and the slicers have the rest. The first slicer
/// also does the maintenance, unless there is another session for it.
package struct WorkSessions: Equatable {
    /// The minimum for a daemon.
    package static let least = 4

    /// The number of slicers; each expands a different large audience.
    package let slicers: Int
    /// Whether maintenance has a session of its own.
    package let isMaintenanceApart: Bool

    /// Distributes connections.
    ///
    /// - Parameter connections: ``least`` or more.
    package init(connections: Int) {
        isMaintenanceApart = connections > Self.least
        slicers = max(1, connections - Self.least)
    }
}
