/// A line of the browser's console, from scripts or about resources that could not be loaded.
public struct ConsoleLine: Decodable, Sendable {
    /// `SEVERE`, `WARNING`, `INFO` or `DEBUG`.
    public let level: String
    /// The source, such as `console-api`, `javascript`, `network` or `security`.
    public let source: String?
    /// The position and the text.
    public let message: String
}

extension Browser {
    /// Returns the console's lines since the last call.
    ///
    /// - Returns: the lines in order.
    /// - Throws: `BrowserError`.
    public func takeConsole() async throws -> [ConsoleLine] {
        try await session.post("/se/log", ["type": "browser"])
    }
}
