import Threading

/// Runs blocking code on a separate thread, so that tests do not occupy Swift's few pool threads.
///
/// - Parameters:
///   - name: the thread's name.
///   - body: the code, which may block.
/// - Returns: the result of `body`.
/// - Throws: the error of `body`.
public func onThread<Value: Sendable>(
    _ name: String = "test",
    _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        // The thread ends by itself; the caller waits for the continuation.
        _ = WorkerThread.start(name: name) {
            continuation.resume(with: Result(catching: body))
        }
    }
}
