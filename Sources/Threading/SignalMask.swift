import Glibc

/// The signals that the calling thread blocks.
public enum SignalMask {
    /// Runs `body` with no signal blocked, to start a child process that receives all signals.
    ///
    /// The threads of Dispatch's pool, and the threads that they start, block nearly every signal, and a child inherits
    /// the mask: SIGTERM would not end it, and a shell would wait for its own children for ever.
    ///
    /// - Parameter body: starts the child on this thread.
    /// - Returns: the result of `body`.
    /// - Throws: the error of `body`.
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
