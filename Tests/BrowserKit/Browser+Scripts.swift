extension Browser {
    /// Runs JavaScript in the page.
    ///
    /// - Parameters:
    ///   - script: the body of a function, with `arguments`; a promise that it returns is awaited.
    ///   - arguments: the arguments.
    ///   - type: the type of the result; an optional if it may be null or undefined.
    /// - Returns: the function's result.
    /// - Throws: `BrowserError` with the script's error.
    public func run<Value: Decodable>(
        _ script: String,
        _ arguments: JSON...,
        as type: Value.Type = JSON.self
    ) async throws -> Value {
        try await session.post("/execute/sync", ["script": .string(script), "args": .array(arguments)])
    }

    /// Runs JavaScript in the page that returns its result by a callback, the last of its `arguments`.
    ///
    /// - Parameters:
    ///   - script: the body of a function.
    ///   - arguments: the arguments before the callback.
    ///   - type: the type of the callback's value.
    /// - Returns: the callback's value.
    /// - Throws: `BrowserError` with the script's error.
    public func runAsync<Value: Decodable>(
        _ script: String,
        _ arguments: JSON...,
        as type: Value.Type = JSON.self
    ) async throws -> Value {
        try await session.post("/execute/async", ["script": .string(script), "args": .array(arguments)])
    }
}
