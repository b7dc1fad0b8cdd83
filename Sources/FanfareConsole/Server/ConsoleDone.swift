internal import FanfareConsoleView

/// The result of an action, as a code in the address.
///
/// The texts are this program's own, so that a forged link cannot display other words.
struct ConsoleDone: Sendable {
    /// The text of each code; `#` stands for the count.
    private static let words = [
        "paused": "The campaign is paused.", "resumed": "The campaign is resumed.",
        "aborted": "The campaign is aborted.",
        "started": "The campaign is started.", "tested": "The test is queued.",
        "restored": "# devices are restored.",
        "cancelled": "Unsent pushes of # events are cancelled.",
        "stopped": "Unsent pushes of the event are cancelled.", "replayed": "The event is replayed.",
        "unchanged": "Nothing to change.",
    ]

    let code: String
    let words: String

    /// Reads a code.
    ///
    /// - Parameter code: the code, such as `paused` or `restored-1204`.
    init?(_ code: String) {
        let parts = code.split(separator: "-", maxSplits: 1)
        guard let name = parts.first, let words = Self.words[String(name)] else { return nil }
        let count = parts.count > 1 ? Int64(parts[1]) : nil
        guard words.contains("#") == (count != nil) else { return nil }
        self.code = code
        self.words = words.replacing("#", with: count.map(FigureText.count) ?? "")
    }
}
