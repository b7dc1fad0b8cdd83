/// `/login`: a token, once.
struct LoginPage: ViewContext {
    let frame: Frame
    let action: String
    /// Where one wanted to go: a path of the console, never another site.
    let back: String
    let problem: String?
    /// How to make a token.
    let command: String
}

/// What could not be shown, and what to do.
struct ErrorPage: ViewContext {
    let frame: Frame
    /// As in `404`.
    let status: String
    let heading: String
    let words: String
    let steps: [HealthStep]
    /// By which the log knows it.
    let requestID: String
    let again: String?
}

/// `/find`: what a word may be, where it may be several things, or nothing.
struct FindPage: ViewContext {
    let frame: Frame
    let candidates: [FindCandidate]
    let empty: Empty?
}

/// One of them.
struct FindCandidate: ViewContext {
    /// What it is.
    let name: String
    let words: String
    let href: String
}
