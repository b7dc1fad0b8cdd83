internal import FanfareCore
internal import FanfareStore
internal import FanfareTools

extension ConsoleSession {
    /// Who looks, as each page says it.
    var viewer: Viewer {
        let scopes = TokenScope.allCases.filter(may).map(\.rawValue)
        return Viewer(name: token.row.name, role: scopes.joined(separator: ", "))
    }
}

extension NavigationItem {
    /// The pages there are.
    ///
    /// - Parameters:
    ///   - current: the path of the one that is shown.
    ///   - status: for what needs attention; nil where it is not known.
    /// - Returns: in their order.
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
    /// What the last action did, as its redirect says it; nil for words that this program does not use.
    ///
    /// - Parameter code: of the address: `paused`, or `restored-1204`.
    init?(done code: String?) {
        guard let code, let done = ConsoleDone(code) else { return nil }
        self.init(.good, done.words)
    }
}
