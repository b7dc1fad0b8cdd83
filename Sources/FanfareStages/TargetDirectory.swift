package import FanfareStore
internal import PostgresClient
internal import Threading

/// The targets there are, by id.
package final class TargetDirectory: Sendable {
    private let targets = Locked<[Int16: Target]>([:])

    /// All targets known.
    package var all: [Int16: Target] { targets.withLock { $0 } }

    /// Takes in what the database has.
    package func replace(_ all: [Target]) {
        targets.withLock { targets in
            targets = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0) })
        }
    }

    /// The target of the same app and provider in the other environment; nil for audiences that a provider manages.
    package func otherEnvironment(of target: Target) -> Int16? {
        targets.withLock { targets in
            targets.values.first {
                $0.app == target.app && $0.provider == target.provider && $0.nativeKey == target.nativeKey
                    && $0.environment != target.environment
            }?.id
        }
    }
}
