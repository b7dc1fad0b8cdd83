internal import FanfareCore
internal import FanfareStore
internal import FanfareTools
internal import Threading

/// What the pages that show sums share, so that a page costs the same however many look at it.
///
/// Charts go by steps of a minute at least, and what is not folded yet makes most of their price: seconds are soon enough.
struct ConsoleQueries: Sendable {
    /// Whose traffic, over which time.
    struct Window: Hashable, Sendable {
        let span: PageSpan
        /// Nil for all.
        let app: String?
    }

    /// Of which campaign a row is shown, and whose.
    struct Sample: Hashable, Sendable {
        let id: RuleID
        let version: Int32
        /// Nil for any.
        let user: String?
    }

    let samples = SharedQuery<Sample, CampaignSample>(.seconds(60))
    let traffic = SharedQuery<Window, TrafficDigest>(.seconds(5))
    let answers = SharedQuery<Window, ProviderDigest>(.seconds(5))
    /// By app.
    let fleet = SharedQuery<String?, FleetDigest>(.seconds(30))
    let backlog = SharedQuery<Int, [BacklogRow]>(.seconds(2))
    let unplanned = SharedQuery<Int, UnplannedEvents.Row?>(.seconds(2))
    let campaigns = SharedQuery<Int, [CampaignProgress]>(.seconds(2))
    let status = SharedQuery<Int, StatusReport>(.seconds(1))
    let apps = SharedQuery<Int, [String]>(.seconds(5))
    let credentials = SharedQuery<Int, [CredentialExpiry]>(.seconds(60))
    let paces = DaemonPaces()
    let variants = VariantCounter()
}
