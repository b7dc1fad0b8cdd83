extension Browser {
    /// Waits until something is so.
    ///
    /// - Parameters:
    ///   - what: what is waited for, in a few words, for the message.
    ///   - time: how long at most; generous, since it is only waited out where something is wrong.
    ///   - condition: asks the browser, or anything; nil for not yet. An element that is not there yet or not any more counts as that.
    /// - Returns: what `condition` returned.
    /// - Throws: `BrowserError` when the time is over; what `condition` throws.
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
            // A browser tells nobody that a page has changed: it has to be asked, but not all the time.
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
