internal import FanfareConsoleView

/// `/login`: the form for a token.
struct LoginPage: ViewContext {
    let frame: Frame
    let action: String
    /// The page to return to: a path of the console, never another site.
    let back: String
    let problem: String?
    /// The command that creates a token.
    let command: String
}

/// An error and its fix.
struct ErrorPage: ViewContext {
    let frame: Frame
    /// The HTTP status, such as `404`.
    let status: String
    let heading: String
    let words: String
    let steps: [HealthStep]
    /// The request's id in the log.
    let requestID: String
    let again: String?
}

/// `/find`: the candidates for a term that is ambiguous or unknown.
struct FindPage: ViewContext {
    let frame: Frame
    let candidates: [FindCandidate]
    let empty: Empty?
}

/// One candidate.
struct FindCandidate: ViewContext {
    /// The kind and name of the candidate.
    let name: String
    let words: String
    let href: String
}
