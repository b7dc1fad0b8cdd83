internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareExplain
internal import FanfareStore
internal import FanfareTools

extension ConsolePage {
    /// The page of one user: devices, preferences, last pushes, and why a push did not arrive.
    static let person = ConsolePage("/people", "person", parts: ["live-deliveries": "person-deliveries"]) { visit in
        let apps = try await visit.apps()
        let app = visit.filter("app")
        let filter = FilterForm.person(visit, apps: apps)
        guard let user = visit.filter("user"), !filter.isMistaken else {
            return PersonPage(
                frame: visit.frame("People", isLive: false),
                filter: filter,
                person: nil,
                empty: filter.isMistaken ? .noApp : .noPerson
            )
        }
        var overview = PersonOverview(visit, user: user, app: app)
        let list = PageAddress("/people", ["user": user, "app": app ?? ""]).text
        let after = try await visit.place(in: list, count: ToolDatabase.placeOfPush)
        overview.pushes = try await visit.database.pushes(ofUser: user, app: app, after: after, limit: 25)
        overview.next = try await visit.address(of: overview.pushes.next, in: list)
        overview.isFirst = after == nil
        if !visit.isUpdate {
            // Updates by the stream do not contain the details.
            overview.detail = try await visit.database.person(user, apps: apps, app: app)
            overview.why = try await WhyPanel.load(visit, user: user, app: app)
            if overview.why.report == nil { overview.last = try await visit.database.why(user: user, app: app) }
        }
        return PersonPage(
            frame: visit.frame(
                user,
                parent: PageLink(name: "People", href: "/people"),
                isLive: after == nil
            ),
            filter: filter,
            person: overview.person,
            empty: nil
        )
    }
}

extension Empty {
    /// The text of the page without a user.
    fileprivate static let noPerson = Empty(
        title: "Find a user",
        words:
            "Enter a user id as your application knows it, to see devices, preferences, latest pushes, and why one wasn't delivered."
    )
    /// The text for an app that does not exist.
    fileprivate static let noApp = Empty(title: "Invalid filter", words: "Choose an existing app.")
}

extension FilterForm {
    /// Returns the form that asks for a user.
    ///
    /// - Parameters:
    ///   - visit: the request's visit.
    ///   - apps: all apps.
    /// - Returns: the form with what is in the address.
    fileprivate static func person(_ visit: Visit, apps: [String]) -> FilterForm {
        FilterForm(
            to: "/people",
            [.typed("user", "User", visit), .chosen("app", "App", apps, visit)],
            keeping: ["event": visit.filter("event")]
        )
    }
}
