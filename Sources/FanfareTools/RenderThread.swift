internal import Threading

/// The thread that renders what somebody asks to see, one request after another: rendering takes a processor, and on the pool's threads
/// it would take the ones that answer health checks.
enum RenderThread {
    /// How many requests wait at most.
    private static let queueLimit = 32

    private static let jobs = Mailbox<@Sendable () -> Void>()
    private static let waiting = Locked(0)
    /// For as long as the process lives.
    private static let thread = WorkerThread.start(name: "explain") {
        while let batch = jobs.take() {
            for job in batch { job() }
        }
    }

    /// Does something on that thread.
    ///
    /// - Parameter work: what to do; takes some seconds at most.
    /// - Returns: what `work` returns.
    /// - Throws: what `work` throws; ``ToolError`` of kind `unavailable` where too many wait already.
    static func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws(ToolError) -> Value
    ) async throws(ToolError) -> Value {
        let isTaken = waiting.withLock { count in
            guard count < queueLimit else { return false }
            count += 1
            return true
        }
        guard isTaken else {
            throw ToolError(
                .unavailable,
                "too many explanations are being rendered",
                hint: "Try again in some seconds."
            )
        }
        defer { waiting.withLock { $0 -= 1 } }
        _ = thread
        let outcome: Result<Value, ToolError> = await withCheckedContinuation { continuation in
            jobs.put {
                do throws(ToolError) {
                    continuation.resume(returning: .success(try work()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try outcome.get()
    }
}
