internal import FanfareTools
internal import Threading

/// The thread that renders messages on request, one request after another.
///
/// Rendering uses the CPU, and on the pool's threads it would delay health checks.
enum RenderThread {
    /// The number of requests that may wait.
    private static let queueLimit = 32

    private static let jobs = Mailbox<@Sendable () -> Void>()
    private static let waiting = Locked(0)
    /// The thread, which lives as long as the process.
    private static let thread = WorkerThread.start(name: "explain") {
        while let batch = jobs.take() {
            for job in batch { job() }
        }
    }

    /// Runs a closure on the thread.
    ///
    /// - Parameter work: the closure; takes a few seconds at most.
    /// - Returns: what `work` returns.
    /// - Throws: errors of `work`; ``ToolError`` of kind `unavailable` if too many requests wait.
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
