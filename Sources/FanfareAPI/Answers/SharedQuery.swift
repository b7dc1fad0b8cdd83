/// What many look at, read once for all of them.
actor SharedQuery<Key: Hashable & Sendable, Value: Sendable> {
    /// How many views are kept at once.
    private static var limit: Int { 64 }

    /// How often it was read.
    private(set) var reads = 0
    private let age: Duration
    private let keepsFailures: Bool
    private var found: [Key: (result: Result<Value, any Error>, at: ContinuousClock.Instant)] = [:]
    private var underWay: [Key: Task<Value, any Error>] = [:]

    /// Keeps nothing yet.
    ///
    /// - Parameters:
    ///   - age: how long what was read counts.
    ///   - keepsFailures: whether that nothing could be read counts as long: for those who ask again and again by themselves.
    init(_ age: Duration, keepsFailures: Bool = false) {
        (self.age, self.keepsFailures) = (age, keepsFailures)
    }

    /// What was read lately, or is read now.
    ///
    /// - Parameters:
    ///   - key: which view.
    ///   - read: reads it; with the rights of whoever comes first, which all viewers have.
    /// - Returns: the value.
    /// - Throws: what `read` throws, or threw.
    func value(for key: Key, read: @escaping @Sendable () async throws -> Value) async throws -> Value {
        if let known = found[key], ContinuousClock.now - known.at < age { return try known.result.get() }
        if let underWay = underWay[key] { return try await underWay.value }
        // Awaited right below.
        let task = Task { try await read() }
        underWay[key] = task
        reads += 1
        let result = await task.result
        underWay[key] = nil
        if case .failure = result, !keepsFailures { return try result.get() }
        // What nobody looks at any more is not kept for ever.
        if found.count >= Self.limit { found = found.filter { ContinuousClock.now - $0.value.at < age } }
        if found.count < Self.limit { found[key] = (result, .now) }
        return try result.get()
    }
}
