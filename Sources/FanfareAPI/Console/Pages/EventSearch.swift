internal import FanfareStore
internal import FanfareTools
internal import PostgresClient

/// What the page of events is asked for.
struct EventSearch {
    let form: FilterForm
    /// Nil where something of it is wrong; the form says what.
    let filter: EventFilter?
    /// Whether anything is asked for.
    let isFiltered: Bool
    /// By name, as in the address.
    let query: [String: String]

    /// What it became of, in the order of the list.
    private static let fates = ["waiting", "planned", "unmatched", "duplicate", "cancelled", "expired", "refused"]

    /// Reads the address.
    ///
    /// - Parameters:
    ///   - visit: whose.
    ///   - apps: there are.
    init(_ visit: Visit, apps: [String]) {
        func time(_ name: String) -> Timestamp? {
            visit.filter(name).flatMap { PageTime($0, at: visit.now) }.map { Timestamp(microseconds: $0.microseconds) }
        }
        var filter = EventFilter()
        (filter.type, filter.key) = (visit.filter("type"), visit.filter("key"))
        (filter.fate, filter.app) = (visit.filter("fate"), visit.filter("app"))
        (filter.since, filter.until) = (time("since"), time("until"))
        var order: String?
        if let since = filter.since, let until = filter.until, since >= until {
            order = "This must be after “From”."
        }
        form = FilterForm(
            visit,
            [
                .typed("type", "Type", visit, example: "order.shipped"),
                .typed("key", "Key", visit),
                .chosen("fate", "Fate", Self.fates, visit),
                .chosen("app", "App", apps, visit),
                .time("since", "From (UTC)", visit),
                .time("until", "Before (UTC)", visit, problem: order),
            ]
        )
        self.filter = form.isMistaken ? nil : filter
        let names = ["type", "key", "fate", "app", "since", "until"]
        query = Dictionary(uniqueKeysWithValues: names.compactMap { name in visit.filter(name).map { (name, $0) } })
        isFiltered = form.isActive
    }
}
