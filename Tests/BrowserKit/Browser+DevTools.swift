extension Browser {
    /// Runs a command of the DevTools protocol.
    ///
    /// - Parameters:
    ///   - command: its name, such as `Emulation.setTimezoneOverride`.
    ///   - parameters: an object.
    /// - Returns: its answer.
    /// - Throws: `BrowserError` if it is refused.
    @discardableResult
    public func devTools(_ command: String, _ parameters: JSON = [:]) async throws -> JSON {
        try await session.post("/goog/cdp/execute", ["cmd": .string(command), "params": parameters])
    }

    /// Turns the scripts of pages on or off, for those that are opened from now on in this tab.
    ///
    /// ``run(_:_:as:)`` works all the same.
    ///
    /// - Parameter areOn: whether they run.
    /// - Throws: `BrowserError`.
    public func setScripts(areOn: Bool) async throws {
        try await devTools("Emulation.setScriptExecutionDisabled", ["value": .bool(!areOn)])
    }

    /// Pretends features of the medium.
    ///
    /// - Parameters:
    ///   - features: by name, such as `prefers-color-scheme` `dark`; none ends the pretence.
    ///   - medium: `screen`, `print`; nil for what it is.
    /// - Throws: `BrowserError`.
    public func emulate(_ features: [String: String], medium: String? = nil) async throws {
        let list = features.map { JSON.object(["name": .string($0.key), "value": .string($0.value)]) }
        try await devTools("Emulation.setEmulatedMedia", ["media": .string(medium ?? ""), "features": .array(list)])
    }

    /// Gives a site what it would otherwise ask its user for.
    ///
    /// - Parameters:
    ///   - permissions: DevTools' names, such as `notifications`.
    ///   - origin: scheme, host and port.
    /// - Throws: `BrowserError`.
    public func grant(_ permissions: [String], to origin: String) async throws {
        let names = JSON.array(permissions.map(JSON.string))
        try await devTools("Browser.grantPermissions", ["permissions": names, "origin": .string(origin)])
    }
}
