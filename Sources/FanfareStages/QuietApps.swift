internal import Threading

/// The apps that have quiet hours, as this daemon last saw them.
///
/// It tells only for whose pushes these are looked at; when they are, and for whom, the look itself says.
package final class QuietApps: Sendable {
    private let apps = Locked<Set<String>>([])

    package init() {}

    /// Their names; mostly none.
    package var current: Set<String> { apps.withLock { $0 } }

    /// Takes over what the database says.
    ///
    /// - Parameter names: all there are.
    package func replace(_ names: [String]) {
        apps.withLock { $0 = Set(names) }
    }
}
