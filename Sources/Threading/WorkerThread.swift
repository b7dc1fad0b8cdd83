import Glibc

/// A POSIX thread that runs one closure and can be joined.
///
/// Fanfare's stages block in libpq and libcurl, which must not happen on Swift's cooperative pool.
@safe
public final class WorkerThread: Sendable {
    private let finished = Mailbox<Never>()

    private init() {}

    /// Starts a thread; retries until the system can create one.
    ///
    /// SIGPIPE is blocked on the thread, so that a write to a closed socket returns an error instead of ending the
    /// process.
    ///
    /// - Parameters:
    ///   - name: shown by `top -H` and debuggers; the kernel keeps 15 bytes.
    ///   - body: the closure; the thread ends when it returns.
    /// - Returns: a handle to wait for its end.
    public static func start(name: String, _ body: @escaping @Sendable () -> Void) -> WorkerThread {
        while true {
            if let worker = startIfPossible(name: name, body) { return worker }
            usleep(10_000)
        }
    }

    /// Starts a thread, or returns nil if the system cannot create one.
    ///
    /// Otherwise like ``start(name:_:)``.
    ///
    /// - Parameters:
    ///   - name: shown by `top -H` and debuggers.
    ///   - body: the closure that the thread runs.
    /// - Returns: a handle to wait for its end; nil if there is no thread, and `body` will not run.
    public static func startIfPossible(name: String, _ body: @escaping @Sendable () -> Void) -> WorkerThread? {
        let worker = WorkerThread()
        let finished = worker.finished
        let start = Start(name: name) {
            body()
            finished.close()
        }
        let retained = unsafe Unmanaged.passRetained(start)
        var thread = pthread_t()
        guard unsafe pthread_create(&thread, nil, threadMain, retained.toOpaque()) == 0 else {
            unsafe retained.release()
            return nil
        }
        pthread_detach(thread)
        return worker
    }

    /// Blocks the calling thread until the worker's closure has returned.
    public func join() {
        while finished.take() != nil {}
    }

    /// Whether the worker's closure has returned.
    public var isFinished: Bool { finished.take(timeout: .zero) == nil }

    /// Suspends the calling task until the worker's closure has returned.
    ///
    /// Ignores cancellation; the owner of the worker is responsible for stopping it.
    public func value() async {
        let hasWaited = await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
            let finished = finished
            let waiter = WorkerThread.startIfPossible(name: "join") {
                while finished.take() != nil {}
                continuation.resume(returning: true)
            }
            if waiter == nil { continuation.resume(returning: false) }
        }
        // Polls if no thread could be started to wait; a cancelled task cannot sleep, so the mailbox's timeout replaces
        // the sleep.
        while !hasWaited && finished.take(timeout: Task.isCancelled ? .milliseconds(50) : .zero) != nil {
            try? await Task.sleep(for: .milliseconds(50))
        }
    }
}

/// The name and the closure of a new thread, passed through the C API.
private final class Start {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

private func threadMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    let start = unsafe Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
    // Replaces the mask instead of extending it: a thread started from Dispatch's pool would inherit a mask that blocks
    // nearly every signal, and pass it on to its child processes.
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGPIPE)
    unsafe pthread_sigmask(SIG_SETMASK, &signals, nil)
    nameThread(start.name)
    start.body()
    return nil
}

/// Names the calling thread; pthread_setname_np is missing from Swift's Glibc module.
private func nameThread(_ name: String) {
    let comm = unsafe open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard comm >= 0 else { return }
    let bytes = Array(name.utf8.prefix(15))
    _ = unsafe write(comm, bytes, bytes.count)
    close(comm)
}
