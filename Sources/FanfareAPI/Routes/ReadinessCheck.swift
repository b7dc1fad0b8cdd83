internal import FanfareTools
internal import Threading

/// Asks the database now and then whether it is there, however often that is wanted.
final class ReadinessCheck: Sendable {
    /// How long an answer counts.
    static let age = Duration.milliseconds(500)

    private struct Look {
        var isThere: Bool
        var at: ContinuousClock.Instant
    }

    private let database: ToolDatabase
    private let last = Locked<Look?>(nil)

    init(_ database: ToolDatabase) {
        self.database = database
    }

    /// Whether the database answered, at most ``age`` ago.
    func isDatabaseThere() async -> Bool {
        if let look = last.withLock({ $0 }), ContinuousClock.now - look.at < Self.age { return look.isThere }
        let isThere: Bool
        do {
            try await database.ping()
            isThere = true
        } catch {
            isThere = false
        }
        last.withLock { $0 = Look(isThere: isThere, at: .now) }
        return isThere
    }
}
