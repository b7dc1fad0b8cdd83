internal import FanfareConsoleReads
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

extension ConsolePage {
    /// The page of one event.
    static let event = ConsolePage(
        "/events/{id}",
        "event",
        parts: [
            "live-head": "event-head", "live-trace": "event-trace", "live-audience": "event-audience",
            "live-outcomes": "event-outcomes", "live-variants": "variants", "live-deliveries": "event-deliveries",
        ]
    ) { visit in
        let id = try visit.call.id("id")
        let list = ["/events/\(id)", visit.filter("outcome") ?? "", visit.filter("reason") ?? ""].joined(
            separator: "\n"
        )
        // The count does not depend on the filter of the listed pushes.
        let batches = "/events/\(id)\ncounted"
        let counted = try await visit.place(in: batches, "counted")?[0]
        let detail = try await visit.database.eventDetail(id, after: counted ?? 0)
        var overview = EventOverview(visit, detail, from: counted)
        overview.countOn = try await visit.address(of: detail.next.map { [$0] }, in: batches, "counted")
        if overview.seemsOver {
            let unsent = UnsentEvents(try await visit.database.rows(of: SQL.listUnsent([id])), of: [detail.event])
            overview.mayWait = !unsent.isNothing
        }
        let after = try await visit.place(in: list, count: ToolDatabase.placeOfPush)
        let pushes = try await visit.database.pushes(
            ofEvent: id,
            outcome: visit.filter("outcome"),
            reason: visit.filter("reason"),
            after: after,
            limit: 25
        )
        let next = try await visit.address(of: pushes.next, in: list).map { $0 + "#live-deliveries" }
        overview.pager = EventOverview.pager(visit, pushes, next: next, isFirst: after == nil)
        overview.pushes = pushes.rows
        if !visit.isUpdate {
            // Updates by the stream do not contain the verdicts of the rules.
            overview.rules = try await visit.database.ruleVerdicts(ofEvent: id)
            overview.apps = try await visit.apps()
        }
        if overview.showsVariants {
            overview.variants = try await visit.queries.variants.counts(ofEvent: id, visit.database)
        }
        return overview.page
    }
}
