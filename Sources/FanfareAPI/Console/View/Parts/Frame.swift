/// What stands around each page.
struct Frame: ViewContext {
    /// What comes before each path, without a slash at its end: empty where the console is at the root.
    let base: String
    /// The page's name, in its heading and the window's.
    let title: String
    /// Stands before the heading: where one comes from.
    let parent: PageLink?
    /// The pages.
    let pages: [NavigationItem]
    /// Which installation this is; nothing where it has no name.
    let installation: String?
    /// Who looks; nothing before the login.
    let viewer: Viewer?
    /// What stands in the search field.
    let search: String
    /// Changes with the style sheet and the script, so that browsers keep them no longer.
    let assets: String
    /// The path of the page's stream of updates; nothing where it has none.
    let stream: String?
    /// What the last action did.
    let notice: Notice?
    /// When the page was made, by the database's clock.
    let served: Moment
    /// The program's version.
    let version: String
}

/// A page in the list of pages.
struct NavigationItem: ViewContext {
    let name: String
    let href: String
    /// Opens it after `g`.
    let key: String
    let isCurrent: Bool
    /// What needs attention there: `2`.
    let alert: String?
}

/// A link.
struct PageLink: ViewContext {
    let name: String
    let href: String
}

/// Who looks.
struct Viewer: ViewContext {
    /// The token's name; never the token.
    let name: String
    /// What it may do: `operator`.
    let role: String
}

/// What the last action did, or why not.
struct Notice: ViewContext {
    let tone: String
    let words: String
    /// To what it made.
    let link: PageLink?

    init(_ tone: Tone, _ words: String, link: PageLink? = nil) {
        self.tone = tone.rawValue
        self.words = words
        self.link = link
    }
}

/// How much something asks for; only ``bad`` is red: it needs attention.
enum Tone: String, Sendable {
    case good, busy, warn, bad, quiet
}

/// A state in a word.
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
    /// Shown as code: ids, keys.
    var code: String? = nil
}

/// What may be done: a link to a page that says what it would do, and to how much.
struct ActionLink: ViewContext {
    let name: String
    let href: String
    /// ``Tone/bad`` for what cannot be undone.
    let tone: String
    /// Why not; there is no link then.
    let refused: String?

    init(_ name: String, _ href: String, _ tone: Tone = .quiet, refused: String? = nil) {
        self.name = name
        self.href = href
        self.tone = tone.rawValue
        self.refused = refused
    }
}

/// What stands in the place of a list that has nothing.
struct Empty: ViewContext {
    let title: String
    /// What to do about it, or why it is well so.
    let words: String
    /// What to type, if anything.
    let command: String?
}
