extension Browser {
    /// What the open dialog of `alert`, `confirm` or `prompt` says.
    ///
    /// Nothing else of the page answers while there is one.
    public var dialog: String {
        get async throws { try await session.get("/alert/text") }
    }

    /// Answers the open dialog.
    ///
    /// - Parameter accepting: with OK, or else with Cancel.
    /// - Throws: `BrowserError` if there is none.
    public func answerDialog(accepting: Bool) async throws {
        try await session.run(accepting ? "/alert/accept" : "/alert/dismiss")
    }
}
