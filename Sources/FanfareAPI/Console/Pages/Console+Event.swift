internal import FanfareCore
internal import FanfareStore
internal import FanfareTools

extension ConsolePage {
    /// One event.
    static let event = ConsolePage("/events/{id}", .event) { visit in
        let id = try visit.call.id("id")
        let list = ["/events/\(id)", visit.filter("outcome") ?? "", visit.filter("reason") ?? ""].joined(
            separator: "\n"
        )
        let cursors = visit.call.context.cursors
        // Whichever pushes are listed.
        let batches = "/events/\(id)\ncounted"
        let counted = try await visit.place("counted", of: batches)
        let detail = try await visit.database.eventDetail(id, after: counted ?? 0)
        var overview = EventOverview(visit, detail, from: counted)
        if let next = detail.next {
            overview.countOn = try await visit.address(["counted": cursors.seal([next], of: batches)])
        }
        if overview.seemsOver {
            let unsent = UnsentEvents(try await visit.database.unsent(of: [id]), of: [detail.event])
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
            // What is not sent again is not asked for again.
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
    /// A number that a link of this page has sealed.
    ///
    /// - Parameters:
    ///   - name: in the address.
    ///   - list: which list it is.
    /// - Returns: nil where the address has none.
    /// - Throws: a ``Problem`` for one that this console did not write.
    func place(_ name: String, of list: String) async throws -> Int64? {
        guard let text = filter(name) else { return nil }
        return try await call.context.cursors.open(text, count: 1, of: list)[0]
    }
}
