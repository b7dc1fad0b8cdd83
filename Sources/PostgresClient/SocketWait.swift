internal import Glibc
internal import Threading

/// One sleep of a connection's thread in poll(2).
struct SocketWait {
    enum Outcome {
        /// The socket is ready, or broken: libpq will tell.
        case ready
        /// The caller's signal was up; it has been taken down.
        case woken
        /// The connection was given up by ``PostgresWatch/abandon()``.
        case abandoned
        case timedOut
    }

    let socket: Int32
    /// The connection's own signal, left up so that every later wait ends too.
    let abandon: WakeSignal
    var wake: WakeSignal?
    /// Nil: no limit.
    var deadline: ContinuousClock.Instant?

    /// Sleeps until the socket can be read (or written), a signal, or the deadline.
    ///
    /// - Parameters:
    ///   - writing: whether room to send ends the sleep.
    ///   - reading: whether data, or the end of the stream, ends the sleep.
    /// - Returns: what ended it.
    func callAsFunction(writing: Bool = false, reading: Bool = true) -> Outcome {
        let events = Int16((reading ? POLLIN : 0) | (writing ? POLLOUT : 0))
        var descriptors: InlineArray<3, pollfd> = [
            pollfd(fd: socket, events: events, revents: 0),
            pollfd(fd: abandon.descriptor, events: Int16(POLLIN), revents: 0),
            // A negative descriptor is skipped by poll.
            pollfd(fd: wake?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            var span = descriptors.mutableSpan
            let ready = unsafe span.withUnsafeMutableBufferPointer { buffer in
                unsafe poll(buffer.baseAddress, nfds_t(buffer.count), remainingMilliseconds())
            }
            if ready < 0 {
                // Interrupted, or the kernel is out of memory; nothing is known of the descriptors then.
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

    /// Until the deadline, rounded up so that the wait does not spin through its last millisecond; -1 for ever.
    private func remainingMilliseconds() -> Int32 {
        guard let deadline else { return -1 }
        let (seconds, attoseconds) = (deadline - .now).components
        guard seconds >= 0 && attoseconds >= 0 else { return 0 }
        let milliseconds =
            seconds.multipliedReportingOverflow(by: 1000).partialValue + attoseconds / 1_000_000_000_000_000
        return Int32(clamping: seconds > 1_000_000 ? 1_000_000_000 : milliseconds + 1)
    }
}
