extension Browser {
    /// The address of the page.
    public var address: String {
        get async throws { try await session.get("/url") }
    }

    /// The title of the page.
    public var title: String {
        get async throws { try await session.get("/title") }
    }

    /// The page as HTML, as it is now.
    public var source: String {
        get async throws { try await session.get("/source") }
    }

    /// Opens a page, and waits until it has loaded.
    ///
    /// - Parameter address: its URL.
    /// - Throws: `BrowserError` if it cannot be opened.
    public func open(_ address: String) async throws {
        try await session.run("/url", ["url": .string(address)])
    }

    /// Loads the page again, and waits until it has loaded.
    ///
    /// - Throws: `BrowserError` if it cannot be loaded.
    public func reload() async throws {
        try await session.run("/refresh")
    }

    /// Goes back to the page before.
    ///
    /// - Throws: `BrowserError` if it cannot be loaded.
    public func goBack() async throws {
        try await session.run("/back")
    }
}
