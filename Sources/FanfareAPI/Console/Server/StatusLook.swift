internal import FanfareTools

/// What the daemons do, looked up for many viewers at once: at most every second, however many pages are open.
///
/// Without queues, whose rows it would count.
actor StatusLook {
    /// How long what was read counts.
    static let age = Duration.seconds(1)

    private let database: ToolDatabase
    private var last: (report: StatusReport, at: ContinuousClock.Instant)?
    private var reading: Task<StatusReport, any Error>?

    init(_ database: ToolDatabase) {
        self.database = database
    }

    /// The report, at most ``age`` old.
    ///
    /// - Throws: ``ToolError`` if the database cannot be asked.
    func report() async throws -> StatusReport {
        if let last, ContinuousClock.now - last.at < Self.age { return last.report }
        if let reading { return try await reading.value }
        // Awaited right below.
        let task = Task { try await database.status(withQueues: false) }
        reading = task
        defer { reading = nil }
        let report = try await task.value
        last = (report, .now)
        return report
    }
}
