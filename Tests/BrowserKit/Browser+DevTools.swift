extension Browser {
    /// Runs a command of the DevTools protocol.
    ///
    /// - Parameters:
    ///   - command: the command's name, such as `Emulation.setTimezoneOverride`.
    ///   - parameters: the parameters, an object.
    /// - Returns: the result.
    /// - Throws: `BrowserError` if the browser rejects it.
    @discardableResult
    public func devTools(_ command: String, _ parameters: JSON = [:]) async throws -> JSON {
        try await session.post("/goog/cdp/execute", ["cmd": .string(command), "params": parameters])
    }

    /// Turns scripts on or off for pages that this tab opens from now on.
    ///
    /// ``run(_:_:as:)`` works in both cases.
    ///
    /// - Parameter areOn: whether scripts run.
    /// - Throws: `BrowserError`.
    public func setScripts(areOn: Bool) async throws {
        try await devTools("Emulation.setScriptExecutionDisabled", ["value": .bool(!areOn)])
    }

    /// Emulates media features.
    ///
    /// - Parameters:
    ///   - features: the values by name, such as `prefers-color-scheme` `dark`; an empty dictionary ends the emulation.
    ///   - medium: `screen` or `print`; nil for the actual one.
    /// - Throws: `BrowserError`.
    public func emulate(_ features: [String: String], medium: String? = nil) async throws {
        let list = features.map { JSON.object(["name": .string($0.key), "value": .string($0.value)]) }
        try await devTools("Emulation.setEmulatedMedia", ["media": .string(medium ?? ""), "features": .array(list)])
    }

    /// Grants permissions to a site, for which the browser would otherwise ask its user.
    ///
    /// - Parameters:
    ///   - permissions: the permissions by DevTools' names, such as `notifications`.
    ///   - origin: the site's scheme, host and port.
    /// - Throws: `BrowserError`.
    public func grant(_ permissions: [String], to origin: String) async throws {
        let names = JSON.array(permissions.map(JSON.string))
        try await devTools("Browser.grantPermissions", ["permissions": names, "origin": .string(origin)])
    }
}
