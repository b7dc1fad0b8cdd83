/// A thread that runs tasks, even if all threads of Swift's pool are blocked.
///
/// A task that such a task starts without this executor, as libraries do, runs in the pool.
public final class TaskThread: TaskExecutor {
    private let jobs = Mailbox<UnownedJob>()

    /// Starts the thread, which lives as long as the process.
    ///
    /// - Parameter name: shown by `top -H` and debuggers.
    public init(name: String) {
        _ = WorkerThread.start(name: name) { [self] in
            while let waiting = jobs.take() {
                for job in waiting { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
            }
        }
    }

    /// Queues a part of a task; called by Swift.
    public func enqueue(_ job: consuming ExecutorJob) {
        jobs.put(UnownedJob(job))
    }

    /// Runs a task, and blocks the calling thread until it ends.
    ///
    /// Must not be called by a task: on a machine with two processors two such calls block the whole pool, which `body`
    /// may need.
    ///
    /// - Parameter body: the task.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws.
    public func wait<Value: Sendable, Failure: Error>(
        for body: @escaping @Sendable () async throws(Failure) -> Value
    ) throws(Failure) -> Value {
        precondition(unsafe withUnsafeCurrentTask { unsafe $0 == nil }, "a task must await instead")
        let results = Mailbox<Result<Value, Failure>>()
        Task(executorPreference: self) {
            do throws(Failure) {
                results.put(.success(try await body()))
            } catch {
                results.put(.failure(error))
            }
        }
        while true {
            if let result = results.take()?.first { return try result.get() }
        }
    }
}
