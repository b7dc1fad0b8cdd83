import Glibc

/// How a child process ended.
public enum ChildExit {
    /// Blocks until a child process exits, and leaves it for another caller to reap.
    ///
    /// - Parameter process: the process id of a child that has not been reaped.
    /// - Returns: the exit status; 128 + n if signal n ended it.
    public static func status(of process: Int32) -> Int32 {
        var information = unsafe siginfo_t()
        while unsafe waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        let (code, status) = unsafe (information.si_code, information._sifields._sigchld.si_status)
        return code == CLD_EXITED ? status : 128 + status
    }
}
