internal import Threading

/// The apps that have quiet hours, as this daemon last read them.
///
/// The set only selects the apps whose pushes need the check. The hours and the users are read by the check itself.
package final class QuietApps: Sendable {
    private let apps = Locked<Set<String>>([])

    package init() {}

    /// The names of the apps; usually none.
    package var current: Set<String> { apps.withLock { $0 } }

    /// Replaces the apps with those read from the database.
    ///
    /// - Parameter names: all apps with quiet hours.
    package func replace(_ names: [String]) {
        apps.withLock { $0 = Set(names) }
    }
}
