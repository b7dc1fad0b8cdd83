internal import FanfareStore

/// Which targets nobody here has credentials for: told once of each app and provider, and again if it comes back to that.
struct UnservedTargets {
    private struct Sender: Hashable, Comparable {
        let app: String
        let provider: String

        static func < (left: Sender, right: Sender) -> Bool {
            (left.app, left.provider) < (right.app, right.provider)
        }
    }

    private var told: Set<Sender> = []

    /// Those of the last look, such as `shop/apns`.
    var names: [String] { told.sorted().map { "\($0.app)/\($0.provider)" } }

    /// Compares the targets there are with what this daemon serves.
    ///
    /// - Parameters:
    ///   - targets: all there are.
    ///   - serves: whether there are credentials for one.
    /// - Returns: one target of each app and provider that is to be told of now, by name.
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
