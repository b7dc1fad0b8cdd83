internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient
internal import Threading

/// Checks whether the database responds, at most once per ``age`` for all requests.
final class ReadinessCheck: Sendable {
    /// The time for which a result is reused.
    static let age = Duration.milliseconds(500)

    private struct Check {
        var isThere: Bool
        var at: ContinuousClock.Instant
    }

    private let database: ToolDatabase
    private let last = Locked<Check?>(nil)

    init(_ database: ToolDatabase) {
        self.database = database
    }

    /// Returns whether the database responded, at most ``age`` ago.
    func isDatabaseThere() async -> Bool {
        if let check = last.withLock({ $0 }), ContinuousClock.now - check.at < Self.age { return check.isThere }
        let isThere: Bool
        do {
            _ = try await database.rows(of: SQL.databaseNow())
            isThere = true
        } catch {
            isThere = false
        }
        last.withLock { $0 = Check(isThere: isThere, at: .now) }
        return isThere
    }
}
