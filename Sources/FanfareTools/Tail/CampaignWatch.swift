internal import FanfareCore
internal import FanfareRecords
internal import PostgresClient

/// Polls the running campaigns and reports those that made progress.
///
/// One poll reads the counts at the gates, which takes milliseconds for any number of recipients.
struct CampaignWatch {
    /// The minimum pause between two polls, in microseconds.
    static let pause: Microseconds = 3_000_000

    private let filter: LogTail.Filter
    private var told: [Int64: Standing] = [:]
    private var checkedAt: Microseconds?

    /// The figures whose change makes a new line; a change of speed alone does not.
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

    /// Makes a watch that has reported nothing yet.
    ///
    /// - Parameter filter: selects the campaigns to report.
    init(_ filter: LogTail.Filter) {
        self.filter = filter
    }

    /// Reports the campaigns that made progress since their last line, and those that have ended.
    ///
    /// - Parameters:
    ///   - connection: a session outside a transaction.
    ///   - now: the monotonic time.
    /// - Returns: a line for each; none if the last poll was less than ``pause`` ago.
    /// - Throws: database errors.
    mutating func lines(on connection: PostgresConnection, at now: Microseconds) throws(PostgresError) -> [TailLine] {
        guard !filter.hidesCampaigns, checkedAt.map({ now - $0 >= Self.pause }) ?? true else { return [] }
        checkedAt = now
        var runs = try connection.run(SQL.runningCampaigns()).filter { filter.shows($0) }
        for gone in told.keys.sorted() where !runs.contains(where: { $0.runID == gone }) {
            runs += try connection.run(SQL.findCampaignRun(gone))
        }
        let new = runs.filter { told[$0.runID] != Standing($0) }
        told = Dictionary(runs.filter(\.isRunning).map { ($0.runID, Standing($0)) }) { $1 }
        return new.map { TailLine(CampaignProgress(run: $0, attempts: [])) }
    }
}

extension TailLine {
    /// Makes the line for a campaign's progress.
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
