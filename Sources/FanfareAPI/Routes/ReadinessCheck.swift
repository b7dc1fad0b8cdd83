internal import FanfareTools
internal import Threading

/// Asks the database now and then whether it is there, however often that is wanted.
final class ReadinessCheck: Sendable {
    /// How long an answer counts.
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

    /// Whether the database answered, at most ``age`` ago.
    func isDatabaseThere() async -> Bool {
        if let check = last.withLock({ $0 }), ContinuousClock.now - check.at < Self.age { return check.isThere }
        let isThere: Bool
        do {
            try await database.ping()
            isThere = true
        } catch {
            isThere = false
        }
        last.withLock { $0 = Check(isThere: isThere, at: .now) }
        return isThere
    }
}
