internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareDaemon
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareStore
internal import FanfareTools
internal import PostgresClient
internal import Threading

/// The frame around each page.
struct Frame: ViewContext {
    /// The base path without a trailing slash; empty if the console is at the root.
    let base: String
    /// The page's name, in its heading and the window's title.
    let title: String
    /// The page above this one, before the heading.
    let parent: PageLink?
    /// The navigation.
    let pages: [NavigationItem]
    /// The installation's name; nil if it has none.
    let installation: String?
    /// The viewer; nil before the login.
    let viewer: Viewer?
    /// The text in the search field.
    let search: String
    /// The version of style sheet and script in their addresses, so that browsers load changed ones.
    let assets: String
    /// The path of the page's stream of updates; nil if it has none.
    let stream: String?
    /// The result of the last action.
    let notice: Notice?
    /// The time at which the page was made, by the database's clock.
    let served: Moment
    /// The program's version.
    let version: String
}

/// An item of the navigation.
struct NavigationItem: ViewContext {
    let name: String
    let href: String
    /// The key that opens it after `g`.
    let key: String
    let isCurrent: Bool
    /// The number of problems there: `2`.
    let alert: String?
}

/// A link.
struct PageLink: ViewContext {
    let name: String
    let href: String
}

/// The viewer of a page.
struct Viewer: ViewContext {
    /// The token's name; never the token.
    let name: String
    /// The token's scope: `operator`.
    let role: String
}

/// The result of the last action, or the reason why it was refused.
struct Notice: ViewContext {
    let tone: String
    let words: String
    /// A link to the object that the action created.
    let link: PageLink?

    init(_ tone: Tone, _ words: String, link: PageLink? = nil) {
        self.tone = tone.rawValue
        self.words = words
        self.link = link
    }
}

/// The urgency of a text; only ``bad`` is red: it needs attention.
enum Tone: String, Sendable {
    case good, busy, warn, bad, quiet
}

/// A state in a word, with a colour.
struct Badge: ViewContext, Equatable {
    let tone: String
    let words: String

    init(_ tone: Tone, _ words: String) {
        self.tone = tone.rawValue
        self.words = words
    }
}

/// A line of a list of facts.
struct Fact: ViewContext {
    let name: String
    var words: String? = nil
    var time: Moment? = nil
    var badge: Badge? = nil
    var link: PageLink? = nil
    /// The value shown as code: ids, keys.
    var code: String? = nil
}

/// A link to the page that confirms an action.
struct ActionLink: ViewContext {
    let name: String
    let href: String
    /// The tone; ``Tone/bad`` for an action that cannot be undone.
    let tone: String
    /// The reason why the action is not possible; there is no link then.
    let refused: String?

    init(_ name: String, _ href: String, _ tone: Tone = .quiet, refused: String? = nil) {
        self.name = name
        self.href = href
        self.tone = tone.rawValue
        self.refused = refused
    }
}

/// The text in the place of an empty list.
struct Empty: ViewContext {
    let title: String
    /// The next step, or the reason why an empty list is fine.
    let words: String
    /// The command to type, if any.
    var command: String? = nil
}

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
    /// The text of each result of an action; `#` stands for the count.
    ///
    /// The texts are this program's own, so that a forged link cannot display other words.
    private static let done = [
        "paused": "The campaign is paused.", "resumed": "The campaign is resumed.",
        "aborted": "The campaign is aborted.",
        "started": "The campaign is started.", "tested": "The test is queued.",
        "restored": "# devices are restored.",
        "cancelled": "Unsent pushes of # events are cancelled.",
        "stopped": "Unsent pushes of the event are cancelled.", "replayed": "The event is replayed.",
        "retracted": "The event is taken back.",
        "unchanged": "Nothing to change.",
    ]

    /// Creates the notice of the last action; nil for an unknown code.
    ///
    /// - Parameter code: the code in the address, such as `paused` or `restored-1204`.
    init?(done code: String?) {
        let parts = (code ?? "").split(separator: "-", maxSplits: 1)
        guard let name = parts.first, let words = Self.done[String(name)] else { return nil }
        let count = parts.count > 1 ? Int64(parts[1]) : nil
        guard words.contains("#") == (count != nil) else { return nil }
        self.init(.good, words.replacing("#", with: count.map(FigureText.count) ?? ""))
    }
}
