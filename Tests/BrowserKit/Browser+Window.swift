public import Foundation

extension Browser {
    /// The handle of the tab that is driven.
    public var tab: String {
        get async throws { try await session.get("/window") }
    }

    /// The handles of all tabs.
    public var tabs: [String] {
        get async throws { try await session.get("/window/handles") }
    }

    /// Runs a body in a new tab, closes that, and comes back.
    ///
    /// - Parameter body: drives the new tab.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws.
    public func inNewTab<Result>(_ body: () async throws -> Result) async throws -> Result {
        let before = try await tab
        let new: JSON = try await session.post("/window/new", ["type": "tab"])
        try await drive(new["handle"].text ?? "")
        do {
            let result = try await body()
            try await closeTab(comingBackTo: before)
            return result
        } catch {
            try? await closeTab(comingBackTo: before)
            throw error
        }
    }

    /// Drives another tab from now on.
    ///
    /// - Parameter handle: one of ``tabs``.
    /// - Throws: `BrowserError` if there is no such tab.
    public func drive(_ handle: String) async throws {
        try await session.run("/window", ["handle": .string(handle)])
    }

    /// Closes the tab that is driven.
    ///
    /// - Parameter handle: which is driven then.
    /// - Throws: `BrowserError` if there is no such tab.
    public func closeTab(comingBackTo handle: String) async throws {
        try await session.delete("/window")
        try await drive(handle)
    }

    /// Makes the page's area another size, as that of a phone; narrower than a window can be, too.
    ///
    /// - Parameters:
    ///   - width: in CSS pixels.
    ///   - height: in CSS pixels.
    /// - Throws: `BrowserError`.
    public func resize(width: Int, height: Int) async throws {
        try await devTools(
            "Emulation.setDeviceMetricsOverride",
            [
                "width": .number(Double(width)), "height": .number(Double(height)), "deviceScaleFactor": 1,
                "mobile": false,
            ]
        )
    }

    /// The visible part of the page as PNG.
    ///
    /// - Returns: the file's content.
    /// - Throws: `BrowserError`.
    public func screenshot() async throws -> Data {
        try await session.get("/screenshot")
    }
}
