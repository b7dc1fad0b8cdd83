internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareService
internal import FanfareTools

/// The reports that wait to be stored: those of many requests are stored by one statement.
///
/// A request is answered once its reports are committed.
actor ReportQueue {
    /// The most reports that one statement stores.
    static let batchLimit = 1000
    /// The most reports that wait; further requests get 503.
    static let limit = 20_000
    /// How long the first report waits for others.
    private static let patience = Duration.milliseconds(20)

    private struct Waiting {
        let reports: [DeviceReport]
        let sender: ReportSender
        let done: CheckedContinuation<Bool, any Error>
    }

    /// The requests that one report key may make in a second, counted before the key is checked.
    static let keyRate = 5

    private let database: ToolDatabase
    private let budgets = UserBudgets(keyRate)
    private let counters: ReportCounters
    private var waiting: [Waiting] = []
    private var count = 0
    private var isStoring = false

    /// Creates an empty queue.
    ///
    /// - Parameters:
    ///   - database: the database, with the rights of the daemon.
    ///   - counters: count what is stored and refused.
    init(_ database: ToolDatabase, _ counters: ReportCounters) {
        (self.database, self.counters) = (database, counters)
    }

    /// Stores the reports of one request.
    ///
    /// - Parameters:
    ///   - reports: the reports, 1 to 100.
    ///   - sender: who sent them.
    /// - Returns: whether the sender is who it claims to be.
    /// - Throws: a ``Problem`` if too many reports wait, or the key made too many requests; ``ToolError`` for database
    ///   errors.
    func store(_ reports: [DeviceReport], of sender: ReportSender) async throws -> Bool {
        // Another key with the device's id does not use up the device's budget.
        guard sender.key.isEmpty || budgets.take("\(sender.device) \(sender.key)") else {
            throw Problem(.tooMany, "rate limit exceeded", hint: "Wait as Retry-After says.", retryAfter: 1)
        }
        guard count + reports.count <= Self.limit else {
            throw Problem(.unavailable, "too many reports are waiting", hint: "Send them again later.", retryAfter: 5)
        }
        count += reports.count
        return try await withCheckedThrowingContinuation { done in
            waiting.append(Waiting(reports: reports, sender: sender, done: done))
            guard !isStoring else { return }
            isStoring = true
            // Ends once nothing waits; every request waits for it.
            Task { await storeAll() }
        }
    }

    private func storeAll() async {
        try? await Task.sleep(for: Self.patience)
        while !waiting.isEmpty {
            var size = 0
            let upTo = waiting.prefix { request in
                defer { size += request.reports.count }
                return size == 0 || size + request.reports.count <= Self.batchLimit
            }
            let batch = Array(upTo)
            waiting.removeFirst(batch.count)
            await store(batch)
            for request in batch { count -= request.reports.count }
            // A short statement would otherwise be followed by one with a single report.
            if waiting.count < Self.batchLimit / 10 { try? await Task.sleep(for: Self.patience) }
        }
        isStoring = false
    }

    private func store(_ batch: [Waiting]) async {
        var sent = SentReports()
        for request in batch {
            for report in request.reports {
                let sender = request.sender
                sent.append(report, app: sender.app, device: sender.device, key: sender.key, user: sender.user)
            }
        }
        do {
            let taken = try await database.take(sent)
            let areSenders = taken.areSenders
            counters.ignore(max(0, areSenders.count(where: \.self) - Int(clamping: taken.stored)))
            var place = 0
            for request in batch {
                let isSender = place < areSenders.count && areSenders[place]
                for report in request.reports {
                    if isSender { counters.take("\(report.kind)") } else { counters.refuse() }
                }
                request.done.resume(returning: isSender)
                place += request.reports.count
            }
        } catch {
            for request in batch { request.done.resume(throwing: error) }
        }
    }
}
