/// A line of the browser's console: of scripts, and of what could not be loaded.
public struct ConsoleLine: Decodable, Sendable {
    /// `SEVERE`, `WARNING`, `INFO` or `DEBUG`.
    public let level: String
    /// Who says it: such as `console-api`, `javascript`, `network` or `security`.
    public let source: String?
    /// Where and what.
    public let message: String
}

extension Browser {
    /// What the console got since the last time that it was asked for.
    ///
    /// - Returns: its lines, in order.
    /// - Throws: `BrowserError`.
    public func takeConsole() async throws -> [ConsoleLine] {
        try await session.post("/se/log", ["type": "browser"])
    }
}
