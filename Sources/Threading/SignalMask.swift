import Glibc

/// Which signals the calling thread does not take.
public enum SignalMask {
    /// Runs `body` with no signal blocked, to start a child that takes them all.
    ///
    /// Threads of Dispatch's pool, and those that they start, block nearly every signal, and a child inherits that:
    /// SIGTERM would not end it, and a shell would wait for its own children for ever.
    ///
    /// - Parameter body: what to run; starts the child on this thread.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws.
    public static func withNothingBlocked<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var none = sigset_t()
        var before = sigset_t()
        unsafe sigemptyset(&none)
        unsafe pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
        return try body()
    }
}
