internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareExplain
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareTools
internal import Threading

/// The queries that pages share, so that their cost does not grow with the number of viewers.
///
/// Charts have steps of a minute at least, and rows that are not folded yet make most of a query's cost: results that
/// are some seconds old are good enough.
struct ConsoleQueries: Sendable {
    /// The app and the time of a traffic query.
    struct Window: Hashable, Sendable {
        let span: PageSpan
        /// The app; nil for all.
        let app: String?
    }

    /// The campaign and the user of a sample row.
    struct Sample: Hashable, Sendable {
        let id: RuleID
        let version: Int32
        /// The user; nil for any.
        let user: String?
    }

    let samples = SharedQuery<Sample, CampaignSample>(.seconds(60))
    let traffic = SharedQuery<Window, TrafficDigest>(.seconds(5))
    let answers = SharedQuery<Window, ProviderDigest>(.seconds(5))
    /// The counts of devices by app.
    let fleet = SharedQuery<String?, FleetDigest>(.seconds(30))
    let backlog = SharedQuery<Int, [BacklogRow]>(.seconds(2))
    let unplanned = SharedQuery<Int, UnplannedEventsRow?>(.seconds(2))
    let campaigns = SharedQuery<Int, [CampaignProgress]>(.seconds(2))
    private let status = SharedQuery<Int, StatusReport>(.seconds(1))
    let apps = SharedQuery<Int, [String]>(.seconds(5))
    let credentials = SharedQuery<Int, [CredentialExpiry]>(.seconds(60))
    let paces = DaemonPaces()
    let variants = VariantCounter()

    /// Returns the state of the daemons, read at most once a second for all open pages.
    ///
    /// Without the queues, whose rows it would have to count.
    ///
    /// - Parameter database: the database, with the rights of the program.
    /// - Returns: the report.
    /// - Throws: ``ToolError`` if the query fails.
    func status(in database: ToolDatabase) async throws -> StatusReport {
        try await status.value(for: 0) { try await database.status(withQueues: false) }
    }
}
