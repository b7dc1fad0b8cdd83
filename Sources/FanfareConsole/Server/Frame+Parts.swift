internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareDaemon
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareStore
internal import FanfareTools
internal import PostgresClient
internal import Threading

extension ConsoleSession {
    /// The viewer, as each page shows it.
    var viewer: Viewer {
        let scopes = TokenScope.allCases.filter(may).map(\.rawValue)
        return Viewer(name: token.row.name, role: scopes.joined(separator: ", "))
    }
}

extension Frame {
    /// Creates the frame around a page that reads nothing of the database.
    ///
    /// - Parameters:
    ///   - title: the page's title.
    ///   - call: the request.
    ///   - pages: the items of the navigation.
    ///   - viewer: the viewer; nil without a session.
    init(_ title: String, _ call: Call, pages: [NavigationItem] = [], viewer: Viewer? = nil) {
        self.init(
            base: call.context.basePath,
            title: title,
            parent: nil,
            pages: pages,
            installation: nil,
            viewer: viewer,
            search: "",
            assets: ConsoleAssets.version,
            stream: nil,
            notice: nil,
            served: Moment(KernelClock.realTime.microseconds, .second),
            version: call.context.daemon.version
        )
    }
}

extension NavigationItem {
    /// Returns the items of the navigation.
    ///
    /// - Parameters:
    ///   - current: the path of the current page.
    ///   - status: the state, for the number of problems; nil if unknown.
    /// - Returns: the items in their order.
    static func all(current: String, _ status: StatusReport?) -> [NavigationItem] {
        let ill = status?.health.filter { !$0.isOK } ?? []
        func alerts(_ names: String...) -> Int { ill.count { row in names.contains { row.name.hasPrefix($0) } } }
        let pages: [(name: String, path: String, key: String, alert: Int)] = [
            ("Overview", "/", "o", ill.count), ("Events", "/events", "e", 0), ("People", "/people", "u", 0),
            ("Devices", "/devices", "d", alerts("alarm: prune_fuse/")),
            ("Rules", "/rules", "r", alerts("rules", "badge_sql: ", "users_sql: ", "audience_queries")),
            ("Campaigns", "/campaigns", "c", alerts("campaigns")),
            ("Providers", "/providers", "p", alerts("breaker: ")),
        ]
        return pages.map { page in
            NavigationItem(
                name: page.name,
                href: page.path,
                key: page.key,
                isCurrent: page.path == "/"
                    ? current == "/" : current == page.path || current.hasPrefix(page.path + "/"),
                alert: page.alert > 0 ? "\(page.alert)" : nil
            )
        }
    }
}

extension Notice {
    /// Creates the notice of the last action; nil for an unknown code.
    ///
    /// - Parameter code: the code in the address, such as `paused` or `restored-1204`.
    init?(done code: String?) {
        guard let code, let done = ConsoleDone(code) else { return nil }
        self.init(.good, done.words)
    }
}
