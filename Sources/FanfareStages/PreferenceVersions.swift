internal import Threading

/// In which apps users said what they want since this daemon began, and how often that was seen.
///
/// For batches that are prepared already: what was said before is seen when their tokens are read.
package final class PreferenceVersions: Sendable {
    private let versions = Locked<[String: Int]>([:])

    package init() {}

    /// Grows whenever a user of an app said something.
    package func version(of app: String) -> Int { versions.withLock { $0[app] ?? 0 } }

    /// Grows whenever a user of any app said something.
    package var version: Int { versions.withLock { $0.values.reduce(0, +) } }

    /// Takes over what the database says.
    ///
    /// - Parameter apps: those in which somebody said something since the last look.
    package func said(in apps: [String]) {
        guard !apps.isEmpty else { return }
        versions.withLock { versions in
            for app in apps { versions[app, default: 0] += 1 }
        }
    }
}
