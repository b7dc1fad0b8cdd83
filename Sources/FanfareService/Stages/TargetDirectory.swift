internal import PostgresClient
internal import Threading

/// A target: an app's provider in one environment, for its devices or for audiences of one kind that it keeps itself.
struct Target: Hashable, Sendable {
    let id: Int16
    let app: String
    let platform: String
    let environment: String
    /// The key of `to` (`fcm_topic`, `fcm_condition`, `channel`) where the provider keeps the audience: its pairs have no
    /// device.
    var nativeKey: String?
}

/// The targets there are, by id.
final class TargetDirectory: Sendable {
    private let targets = Locked<[Int16: Target]>([:])

    /// All targets known.
    var all: [Int16: Target] { targets.withLock { $0 } }

    /// Takes in what the database has.
    func replace(_ all: [Target]) {
        targets.withLock { targets in
            targets = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0) })
        }
    }

    /// The target of the same app and platform in the other environment; nil for audiences that a provider keeps.
    func otherEnvironment(of target: Target) -> Int16? {
        targets.withLock { targets in
            targets.values.first {
                $0.app == target.app && $0.platform == target.platform && $0.nativeKey == target.nativeKey
                    && $0.environment != target.environment
            }?.id
        }
    }
}

/// All targets there are.
struct AllTargets: PostgresStatement {
    static let name = "all_targets"
    static let sql = """
        SELECT t.id, a.name, t.platform, t.environment, t.native_key
        FROM fanfare.targets AS t JOIN fanfare.apps AS a ON a.id = t.app_id
        """

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Target {
        Target(
            id: try row.int16(0),
            app: try row.string(1),
            platform: try row.string(2),
            environment: try row.string(3),
            nativeKey: try row.string(orNil: 4)
        )
    }
}
