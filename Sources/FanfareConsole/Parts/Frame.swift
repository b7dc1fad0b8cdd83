internal import FanfareConsoleView

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
