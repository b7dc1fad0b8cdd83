extension Browser {
    /// Runs JavaScript in the page.
    ///
    /// - Parameters:
    ///   - script: the body of a function, with `arguments`; a promise that it returns is awaited.
    ///   - arguments: what it gets.
    ///   - type: what it returns; an optional where that may be null or undefined.
    /// - Returns: what it returns.
    /// - Throws: `BrowserError` with what it throws.
    public func run<Value: Decodable>(
        _ script: String,
        _ arguments: JSON...,
        as type: Value.Type = JSON.self
    ) async throws -> Value {
        try await session.post("/execute/sync", ["script": .string(script), "args": .array(arguments)])
    }

    /// Runs JavaScript in the page that answers by a callback, the last of its `arguments`.
    ///
    /// - Parameters:
    ///   - script: the body of a function.
    ///   - arguments: what it gets before the callback.
    ///   - type: what the callback gets.
    /// - Returns: what the callback gets.
    /// - Throws: `BrowserError` with what it throws.
    public func runAsync<Value: Decodable>(
        _ script: String,
        _ arguments: JSON...,
        as type: Value.Type = JSON.self
    ) async throws -> Value {
        try await session.post("/execute/async", ["script": .string(script), "args": .array(arguments)])
    }
}
