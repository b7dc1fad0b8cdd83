extension Browser {
    /// The address of the page.
    public var address: String {
        get async throws { try await session.get("/url") }
    }

    /// The title of the page.
    public var title: String {
        get async throws { try await session.get("/title") }
    }

    /// The page's current HTML.
    public var source: String {
        get async throws { try await session.get("/source") }
    }

    /// Opens a page, and waits until it has loaded.
    ///
    /// - Parameter address: the URL.
    /// - Throws: `BrowserError` if it cannot be opened.
    public func open(_ address: String) async throws {
        try await session.run("/url", ["url": .string(address)])
    }

    /// Reloads the page, and waits until it has loaded.
    ///
    /// - Throws: `BrowserError` if it cannot be loaded.
    public func reload() async throws {
        try await session.run("/refresh")
    }

    /// Goes back to the previous page.
    ///
    /// - Throws: `BrowserError` if it cannot be loaded.
    public func goBack() async throws {
        try await session.run("/back")
    }
}
