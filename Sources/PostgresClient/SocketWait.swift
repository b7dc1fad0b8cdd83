internal import Glibc
internal import Threading

/// One wait of a connection's thread in poll(2).
struct SocketWait {
    enum Outcome {
        /// The socket is ready, or broken: libpq will tell which.
        case ready
        /// The caller's signal was raised; it has been lowered.
        case woken
        /// The connection was abandoned by ``PostgresWatch/abandon()``.
        case abandoned
        case timedOut
    }

    let socket: Int32
    /// The connection's own signal, left raised so that every later wait ends too.
    let abandon: WakeSignal
    var wake: WakeSignal?
    /// Nil: no limit.
    var deadline: ContinuousClock.Instant?

    /// Waits until the socket is readable (or writable), a signal is raised, or the deadline has passed.
    ///
    /// - Parameters:
    ///   - writing: whether writability ends the wait.
    ///   - reading: whether data, or the end of the stream, ends the wait.
    /// - Returns: the reason.
    func callAsFunction(writing: Bool = false, reading: Bool = true) -> Outcome {
        let events = Int16((reading ? POLLIN : 0) | (writing ? POLLOUT : 0))
        var descriptors: InlineArray<3, pollfd> = [
            pollfd(fd: socket, events: events, revents: 0),
            pollfd(fd: abandon.descriptor, events: Int16(POLLIN), revents: 0),
            // poll skips a negative descriptor.
            pollfd(fd: wake?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            var span = descriptors.mutableSpan
            let ready = unsafe span.withUnsafeMutableBufferPointer { buffer in
                unsafe poll(buffer.baseAddress, nfds_t(buffer.count), remainingMilliseconds())
            }
            if ready < 0 {
                // Interrupted, or the kernel is out of memory; the state of the descriptors is unknown then.
                if errno != EINTR { usleep(10_000) }
                if let deadline, deadline <= .now { return .timedOut }
                continue
            }
            if descriptors[1].revents != 0 { return .abandoned }
            if descriptors[2].revents != 0, let wake {
                wake.consume()
                return .woken
            }
            if descriptors[0].revents != 0 { return .ready }
            if let deadline, deadline <= .now { return .timedOut }
        }
    }

    /// The time until the deadline, rounded up so that the wait does not spin in its last millisecond; -1 for no limit.
    private func remainingMilliseconds() -> Int32 {
        guard let deadline else { return -1 }
        let (seconds, attoseconds) = (deadline - .now).components
        guard seconds >= 0 && attoseconds >= 0 else { return 0 }
        let milliseconds =
            seconds.multipliedReportingOverflow(by: 1000).partialValue + attoseconds / 1_000_000_000_000_000
        return Int32(clamping: seconds > 1_000_000 ? 1_000_000_000 : milliseconds + 1)
    }
}
