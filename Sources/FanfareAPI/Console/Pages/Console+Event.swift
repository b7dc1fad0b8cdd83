internal import FanfareCore
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

extension ConsolePage {
    /// The page of one event.
    static let event = ConsolePage("/events/{id}", .event) { visit in
        let id = try visit.call.id("id")
        let list = ["/events/\(id)", visit.filter("outcome") ?? "", visit.filter("reason") ?? ""].joined(
            separator: "\n"
        )
        let cursors = visit.call.context.cursors
        // The count does not depend on the filter of the listed pushes.
        let batches = "/events/\(id)\ncounted"
        let counted = try await visit.place("counted", of: batches)
        let detail = try await visit.database.eventDetail(id, after: counted ?? 0)
        var overview = EventOverview(visit, detail, from: counted)
        if let next = detail.next {
            overview.countOn = try await visit.address(["counted": cursors.seal([next], of: batches)])
        }
        if overview.seemsOver {
            let unsent = UnsentEvents(try await visit.database.rows(of: SQL.listUnsent([id])), of: [detail.event])
            overview.mayWait = !unsent.isNothing
        }
        var after: [Int64]?
        if let text = visit.filter("after") {
            after = try await cursors.open(text, count: ToolDatabase.placeOfPush, of: list)
        }
        let pushes = try await visit.database.pushes(
            ofEvent: id,
            outcome: visit.filter("outcome"),
            reason: visit.filter("reason"),
            after: after,
            limit: 25
        )
        var next: String?
        if let place = pushes.next {
            next = try await visit.address(["after": cursors.seal(place, of: list)]) + "#live-deliveries"
        }
        overview.pager = EventOverview.pager(visit, pushes, next: next, isFirst: after == nil)
        overview.pushes = pushes.rows
        if !visit.isUpdate {
            // Updates by the stream do not contain the verdicts of the rules.
            overview.rules = try await visit.database.ruleVerdicts(ofEvent: id)
            overview.apps = try await visit.apps()
        }
        if overview.showsVariants {
            overview.variants = try await visit.call.context.queries.variants.counts(ofEvent: id, visit.database)
        }
        return overview.page
    }
}

extension Visit {
    /// Opens a number that this page sealed into a link.
    ///
    /// - Parameters:
    ///   - name: the parameter's name in the address.
    ///   - list: the list that the number belongs to.
    /// - Returns: the number; nil if the address has none.
    /// - Throws: a ``Problem`` for a value that this console did not seal.
    func place(_ name: String, of list: String) async throws -> Int64? {
        guard let text = filter(name) else { return nil }
        return try await call.context.cursors.open(text, count: 1, of: list)[0]
    }
}
