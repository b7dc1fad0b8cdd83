package import FanfareStore
internal import PostgresClient
internal import Threading

/// The known targets, by id.
package final class TargetDirectory: Sendable {
    private let targets = Locked<[Int16: Target]>([:])

    /// All known targets.
    package var all: [Int16: Target] { targets.withLock { $0 } }

    /// Replaces the targets with those read from the database.
    package func replace(_ all: [Target]) {
        targets.withLock { targets in
            targets = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0) })
        }
    }

    /// Returns the id of the same app and provider's target in the other environment.
    ///
    /// Nil if there is none, as for audiences that a provider manages.
    package func otherEnvironment(of target: Target) -> Int16? {
        targets.withLock { targets in
            targets.values.first {
                $0.app == target.app && $0.provider == target.provider && $0.nativeKey == target.nativeKey
                    && $0.environment != target.environment
            }?.id
        }
    }
}
