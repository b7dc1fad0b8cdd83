internal import FanfareSending
internal import FanfareStore

/// The targets for which this daemon has no credentials; each app and provider is reported once, and again if it
/// recurs.
struct UnservedTargets {
    private struct Sender: Hashable, Comparable {
        let app: String
        let provider: String

        static func < (left: Sender, right: Sender) -> Bool {
            (left.app, left.provider) < (right.app, right.provider)
        }
    }

    private var told: Set<Sender> = []

    /// The apps and providers of the last check, such as `shop/apns`.
    var names: [String] { told.sorted().map { "\($0.app)/\($0.provider)" } }

    /// Compares the known targets with those that this daemon serves.
    ///
    /// - Parameters:
    ///   - targets: all known targets.
    ///   - serves: returns whether the daemon has credentials for a target.
    /// - Returns: one target of each app and provider to report now, sorted by name.
    mutating func check(_ targets: some Sequence<Target>, served serves: (Target) -> Bool) -> [Target] {
        var found: [Sender: Target] = [:]
        for target in targets where !serves(target) {
            found[Sender(app: target.app, provider: target.provider)] = target
        }
        let new = found.filter { !told.contains($0.key) }
        told = Set(found.keys)
        return new.sorted { $0.key < $1.key }.map(\.value)
    }
}
