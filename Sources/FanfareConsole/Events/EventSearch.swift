internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareStore
internal import FanfareTools
internal import PostgresClient

/// The search that the page of events asks for.
struct EventSearch {
    let form: FilterForm
    /// The filter; nil if a field is invalid, which the form reports.
    let filter: EventFilter?
    /// Whether any filter is set.
    let isFiltered: Bool
    /// The filters by their names in the address.
    let query: [String: String]

    /// The fates, in the order of the list.
    private static let fates = ["waiting", "planned", "unmatched", "duplicate", "cancelled", "expired", "refused"]

    /// Reads the address.
    ///
    /// - Parameters:
    ///   - visit: the request's visit.
    ///   - apps: all apps.
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
