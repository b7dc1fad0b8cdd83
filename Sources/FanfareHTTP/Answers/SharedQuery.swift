/// Query results that several viewers share.
package actor SharedQuery<Key: Hashable & Sendable, Value: Sendable> {
    /// How many results are kept at once.
    private static var limit: Int { 64 }

    /// The number of queries run.
    private(set) var reads = 0
    private let age: Duration
    private let keepsFailures: Bool
    private var found: [Key: (result: Result<Value, any Error>, at: ContinuousClock.Instant)] = [:]
    private var underWay: [Key: Task<Value, any Error>] = [:]

    /// Creates an empty cache.
    ///
    /// - Parameters:
    ///   - age: how long a result is used.
    ///   - keepsFailures: whether failures are kept as long, for clients that retry automatically.
    package init(_ age: Duration, keepsFailures: Bool = false) {
        (self.age, self.keepsFailures) = (age, keepsFailures)
    }

    /// Returns a recent result, or waits for a query in progress, or runs the query.
    ///
    /// - Parameters:
    ///   - key: the key of the result.
    ///   - read: runs the query, with the rights of the first caller, which all viewers have.
    /// - Returns: the result.
    /// - Throws: what `read` throws, or threw.
    package func value(for key: Key, read: @escaping @Sendable () async throws -> Value) async throws -> Value {
        if let known = found[key], ContinuousClock.now - known.at < age { return try known.result.get() }
        if let underWay = underWay[key] { return try await underWay.value }
        // Awaited below.
        let task = Task { try await read() }
        underWay[key] = task
        reads += 1
        let result = await task.result
        underWay[key] = nil
        if case .failure = result, !keepsFailures { return try result.get() }
        // Expired results are dropped.
        if found.count >= Self.limit { found = found.filter { ContinuousClock.now - $0.value.at < age } }
        if found.count < Self.limit { found[key] = (result, .now) }
        return try result.get()
    }
}
