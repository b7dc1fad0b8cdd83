internal import FanfareCore
internal import FanfareStore
internal import PostgresClient

/// Looks now and then at the campaigns that run, and tells of those that have come on.
///
/// One look reads what was counted at gates: milliseconds, however many recipients there are.
struct CampaignWatch {
    /// How long after a look the next one comes at the earliest, in microseconds.
    static let pause: Microseconds = 3_000_000

    private let filter: LogTail.Filter
    private var told: [Int64: Standing] = [:]
    private var checkedAt: Microseconds?

    /// What makes a new line; that it goes slower or faster does not.
    private struct Standing: Equatable {
        let state: String
        let hold: String?
        let isPlanning: Bool
        let planned: Int64
        let ended: Int64

        init(_ run: CampaignRun) {
            (state, hold, isPlanning, planned, ended) = (run.state, run.hold, run.isPlanning, run.planned, run.ended)
        }
    }

    /// Tells of nothing yet.
    ///
    /// - Parameter filter: of which campaigns it tells.
    init(_ filter: LogTail.Filter) {
        self.filter = filter
    }

    /// How far those are that have come on since they were told of, and those that have ended.
    ///
    /// - Parameters:
    ///   - connection: outside a transaction.
    ///   - now: the steady time.
    /// - Returns: a line for each; none where the last look was less than ``pause`` ago.
    /// - Throws: what the database says.
    mutating func lines(on connection: PostgresConnection, at now: Microseconds) throws(PostgresError) -> [TailLine] {
        guard !filter.hidesCampaigns, checkedAt.map({ now - $0 >= Self.pause }) ?? true else { return [] }
        checkedAt = now
        var runs = try connection.run(RunningCampaigns()).filter { filter.shows($0) }
        for gone in told.keys.sorted() where !runs.contains(where: { $0.runID == gone }) {
            runs += try connection.run(FindCampaignRun(run: gone))
        }
        let new = runs.filter { told[$0.runID] != Standing($0) }
        told = Dictionary(runs.filter(\.isRunning).map { ($0.runID, Standing($0)) }) { $1 }
        return new.map { TailLine(CampaignProgress(run: $0, attempts: [])) }
    }
}

extension TailLine {
    /// Tells how far a campaign is.
    fileprivate init(_ progress: CampaignProgress) {
        self.init(
            at: progress.run.at,
            eventID: progress.eventID,
            eventType: progress.run.eventType,
            emittedAt: nil,
            subject: .campaign(progress)
        )
    }
}
