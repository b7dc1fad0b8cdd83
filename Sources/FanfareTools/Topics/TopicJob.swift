internal import FanfareCore
internal import FanfareProviders
internal import FanfareRecords
internal import FanfareStore
internal import PostgresClient

/// Runs a change of subscriptions in steps, on one thread, and stores the progress after each of them.
///
/// A step begins when the progress of the one before is stored, so a crash repeats at most the requests of one step.
struct TopicJob {
    /// The family of the advisory locks of topics, which no other part of Fanfare uses.
    private static let lockFamily: Int32 = 0x746F_7063

    private let change: TopicChange
    private let sender: TopicSender
    private let fingerprint: [UInt8]
    private let tell: (TopicNews) throws(ToolError) -> Void
    private var report = TopicReport()
    /// The highest id up to which every device is done.
    private var reached: Int64 = 0

    /// Makes a job.
    ///
    /// - Parameters:
    ///   - change: the change.
    ///   - sender: sends its requests.
    ///   - tell: receives reports; if it throws, the job ends at once without storing more progress.
    init(_ change: TopicChange, _ sender: TopicSender, tell: @escaping (TopicNews) throws(ToolError) -> Void) {
        (self.change, self.sender, self.tell) = (change, sender, tell)
        fingerprint = change.fingerprint(sender.place)
    }

    /// Runs the job.
    ///
    /// - Parameter connection: the session for its statements.
    /// - Returns: the result.
    /// - Throws: a `PostgresError`, or a ``ToolError``; what was done before stays done.
    mutating func run(on connection: PostgresConnection) throws -> TopicReport {
        try begin(on: connection)
        let filter = change.filter
        let left = try connection.run(SQL.countTokens(filter.app, filter.topic, filter.users, reached)).first ?? 0
        try tell(.counted(left: left))
        while true {
            let page = try connection.run(
                SQL.listTokens(filter.app, filter.topic, filter.users, reached, change.devicesAtOnce)
            )
            let isLast = page.count < Int(change.devicesAtOnce)
            guard try perform(page, isLast: isLast, on: connection) else {
                report.isStopped = true
                return report
            }
            if isLast { return report }
        }
    }

    /// Continues after the last device of an attempt that was not finished, or begins with the first device.
    private mutating func begin(on connection: PostgresConnection) throws {
        let (app, operation) = (change.filter.app, change.operation.rawValue)
        // Of the session, which ends with the command.
        var key = Int32(truncatingIfNeeded: change.topic.utf8.count)
        for byte in "\(app) \(change.topic)".utf8 { key = key &* 31 &+ Int32(byte) }
        guard try connection.run(SQL.tryLock(Self.lockFamily, key)).first == true else {
            throw ToolError(
                .failed,
                "another command changes the topic \(change.topic) of app \(app)",
                hint: "Wait until it has ended: two would share FCM's quota and overwrite each other's progress."
            )
        }
        let found = try connection.run(SQL.findTopicChange(app, operation, change.topic, fingerprint)).first
        guard let found, !found.isFinished, !change.restarts, found.device > 0 else {
            return try note(isFinished: false, on: connection)
        }
        reached = found.device
        report.tally = TopicTally((try? JSONValue(parsing: found.counts)) ?? [:])
        try tell(.continued(devices: report.tally.devices))
    }

    /// Performs one step and stores the progress.
    ///
    /// - Returns: false if it was asked to stop.
    private mutating func perform(
        _ page: [(id: Int64, token: String)],
        isLast: Bool,
        on connection: PostgresConnection
    ) throws -> Bool {
        var step = TopicStep(count: page.count, pace: change.pace)
        let before = report.tally
        let (devices, refused, tell) = (before.devices, before.refusedCount, tell)
        let end = try sender.run(&step, page.map(\.token)) { step, held throws(ToolError) in
            if let held { try tell(.held(seconds: held)) }
            try tell(.progress(devices: devices + Int64(step.settled), refused: refused + Int64(step.refused)))
        }
        if case .done = end {
            guard !step.isUnserved else { throw sender.unserved }
            reached = page.last?.id ?? reached
            report.tally += step.tally()
            try note(isFinished: isLast, on: connection)
            return true
        }
        let count = step.prefix
        if count > 0 {
            reached = page[count - 1].id
            report.tally += step.tally(ofFirst: count)
            try note(isFinished: false, on: connection)
        }
        if case .failed(let error) = end { throw error }
        return false
    }

    private func note(isFinished: Bool, on connection: PostgresConnection) throws(PostgresError) {
        try connection.run(
            SQL.noteTopicChange(
                change.filter.app,
                change.operation.rawValue,
                change.topic,
                fingerprint,
                reached,
                report.tally.json.text,
                isFinished
            )
        )
    }
}
