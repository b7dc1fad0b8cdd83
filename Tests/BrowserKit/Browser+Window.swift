public import Foundation

extension Browser {
    /// The handle of the current tab.
    public var tab: String {
        get async throws { try await session.get("/window") }
    }

    /// The handles of all tabs.
    public var tabs: [String] {
        get async throws { try await session.get("/window/handles") }
    }

    /// Runs a body in a new tab, closes the tab, and returns to the previous one.
    ///
    /// - Parameter body: uses the new tab.
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

    /// Switches to another tab.
    ///
    /// - Parameter handle: one of ``tabs``.
    /// - Throws: `BrowserError` if there is no such tab.
    public func drive(_ handle: String) async throws {
        try await session.run("/window", ["handle": .string(handle)])
    }

    /// Closes the current tab.
    ///
    /// - Parameter handle: the tab to switch to.
    /// - Throws: `BrowserError` if there is no such tab.
    public func closeTab(comingBackTo handle: String) async throws {
        try await session.delete("/window")
        try await drive(handle)
    }

    /// Resizes the page's viewport, which may be narrower than the smallest window, as on a phone.
    ///
    /// - Parameters:
    ///   - width: the width in CSS pixels.
    ///   - height: the height in CSS pixels.
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

    /// Returns the visible part of the page as PNG.
    ///
    /// - Returns: the file's content.
    /// - Throws: `BrowserError`.
    public func screenshot() async throws -> Data {
        try await session.get("/screenshot")
    }
}
