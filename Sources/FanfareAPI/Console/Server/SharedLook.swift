/// What many viewers look at, read once for all of them.
actor SharedLook<Key: Hashable & Sendable, Value: Sendable> {
    /// How many views are kept at once.
    private static var limit: Int { 64 }

    private let age: Duration
    private var found: [Key: (value: Value, at: ContinuousClock.Instant)] = [:]
    private var reading: [Key: Task<Value, any Error>] = [:]

    /// Keeps nothing yet.
    ///
    /// - Parameter age: how long what was read counts.
    init(_ age: Duration) {
        self.age = age
    }

    /// What was read lately, or is read now.
    ///
    /// - Parameters:
    ///   - key: which view.
    ///   - read: reads it; with the rights of whoever comes first, which all viewers have.
    /// - Returns: the value.
    /// - Throws: what `read` throws.
    func value(for key: Key, read: @escaping @Sendable () async throws -> Value) async throws -> Value {
        if let known = found[key], ContinuousClock.now - known.at < age { return known.value }
        if let reading = reading[key] { return try await reading.value }
        // Awaited right below.
        let task = Task { try await read() }
        reading[key] = task
        defer { reading[key] = nil }
        let value = try await task.value
        // What nobody looks at any more is not kept for ever.
        if found.count >= Self.limit { found = found.filter { ContinuousClock.now - $0.value.at < age } }
        if found.count < Self.limit { found[key] = (value, .now) }
        return value
    }
}
