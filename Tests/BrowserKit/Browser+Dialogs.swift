extension Browser {
    /// The text of the open `alert`, `confirm` or `prompt` dialog.
    ///
    /// While a dialog is open, other commands to the page fail.
    public var dialog: String {
        get async throws { try await session.get("/alert/text") }
    }

    /// Answers the open dialog.
    ///
    /// - Parameter accepting: whether to answer with OK instead of Cancel.
    /// - Throws: `BrowserError` if no dialog is open.
    public func answerDialog(accepting: Bool) async throws {
        try await session.run(accepting ? "/alert/accept" : "/alert/dismiss")
    }
}
