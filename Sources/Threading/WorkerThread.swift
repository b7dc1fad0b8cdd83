import Glibc

/// A POSIX thread that runs one closure and can be waited for.
///
/// Fanfare's stages block in libpq and libcurl, which must never happen on Swift's cooperative pool.
@safe
public final class WorkerThread: Sendable {
    private let finished = Mailbox<Never>()

    private init() {}

    /// Starts a thread, and waits for the system to have one where it has none.
    ///
    /// SIGPIPE is blocked on it: a peer that closes a socket must be an error, not the end of the process.
    ///
    /// - Parameters:
    ///   - name: shown by `top -H` and debuggers; the kernel keeps 15 bytes.
    ///   - body: what the thread does; it ends when this returns.
    /// - Returns: a handle to wait for its end.
    public static func start(name: String, _ body: @escaping @Sendable () -> Void) -> WorkerThread {
        while true {
            if let worker = startIfPossible(name: name, body) { return worker }
            usleep(10_000)
        }
    }

    /// Starts a thread, unless the system has none to give.
    ///
    /// Otherwise as ``start(name:_:)``.
    ///
    /// - Parameters:
    ///   - name: shown by `top -H` and debuggers.
    ///   - body: what the thread does.
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
    /// Does not react to cancellation: stopping the worker is its owner's business.
    public func value() async {
        let hasWaited = await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
            let finished = finished
            let waiter = WorkerThread.startIfPossible(name: "join") {
                while finished.take() != nil {}
                continuation.resume(returning: true)
            }
            if waiter == nil { continuation.resume(returning: false) }
        }
        // Without a thread to wait on it looks now and then; a task that is cancelled cannot sleep.
        while !hasWaited && finished.take(timeout: Task.isCancelled ? .milliseconds(50) : .zero) != nil {
            try? await Task.sleep(for: .milliseconds(50))
        }
    }
}

/// What a new thread is to do, carried through the C API.
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
    // Set, not added: started from Dispatch's pool, a thread would inherit a mask that blocks nearly everything, and
    // hand it on to processes it spawns.
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGPIPE)
    unsafe pthread_sigmask(SIG_SETMASK, &signals, nil)
    nameThread(start.name)
    start.body()
    return nil
}

/// Names the calling thread; pthread_setname_np is not in Swift's Glibc module.
private func nameThread(_ name: String) {
    let comm = unsafe open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard comm >= 0 else { return }
    let bytes = Array(name.utf8.prefix(15))
    _ = unsafe write(comm, bytes, bytes.count)
    close(comm)
}
