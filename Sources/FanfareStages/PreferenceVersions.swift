internal import Threading

/// Per app, a version number that grows when users change their preferences.
///
/// It covers batches that are already prepared. Earlier changes are seen when the tokens of a batch are read.
package final class PreferenceVersions: Sendable {
    private let versions = Locked<[String: Int]>([:])

    package init() {}

    /// Returns an app's version, which grows whenever one of its users changes a preference.
    package func version(of app: String) -> Int { versions.withLock { $0[app] ?? 0 } }

    /// The sum of all apps' versions.
    package var version: Int { versions.withLock { $0.values.reduce(0, +) } }

    /// Records changed preferences.
    ///
    /// - Parameter apps: the apps with changes since the last query.
    package func said(in apps: [String]) {
        guard !apps.isEmpty else { return }
        versions.withLock { versions in
            for app in apps { versions[app, default: 0] += 1 }
        }
    }
}
