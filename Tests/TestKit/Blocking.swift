import Threading

/// Runs blocking code on a thread of its own, so that tests do not use up Swift's few pool threads.
///
/// - Parameters:
///   - name: the thread's name.
///   - body: may block.
/// - Returns: what `body` returns.
/// - Throws: what `body` throws.
public func onThread<Value: Sendable>(
    _ name: String = "test",
    _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        // Ends by itself; the continuation is what the caller waits for.
        _ = WorkerThread.start(name: name) {
            continuation.resume(with: Result(catching: body))
        }
    }
}
