extension Browser {
    /// Waits until a condition holds.
    ///
    /// - Parameters:
    ///   - what: a description of the condition for the error message.
    ///   - time: the timeout; generous, because only a failing test waits that long.
    ///   - condition: returns nil while it does not hold; a missing or stale element counts as nil.
    /// - Returns: the condition's value.
    /// - Throws: `BrowserError` on a timeout, and the errors of `condition`.
    @discardableResult
    public func wait<Value>(
        for what: String,
        within time: Duration = .seconds(90),
        until condition: () async throws -> Value?
    ) async throws -> Value {
        let deadline = ContinuousClock.now + time
        while true {
            do {
                if let value = try await condition() { return value }
            } catch let error as BrowserError where error.passes {
                guard ContinuousClock.now < deadline else { throw error }
            }
            guard ContinuousClock.now < deadline else {
                let place = (try? await address) ?? "no page"
                throw BrowserError(code: BrowserError.timeout, message: "waited for \(what) at \(place)")
            }
            // WebDriver reports no changes of a page, so the condition is polled.
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
