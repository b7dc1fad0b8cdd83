internal import CCurl
public import PushTransport
internal import Threading

extension HTTP2Client {
    /// Sends, receives, and waits until an answer arrives, a slot becomes free, or a waker is called.
    ///
    /// - Parameters:
    ///   - timeout: the longest time to wait; with zero the call does only what is possible at once.
    ///   - answers: the array to which answers are appended.
    public func poll(timeout: Duration, into answers: inout [PushAnswer]) {
        context.now = monotonicNow()
        let end = context.now + timeout.nanoseconds
        let hadSlots = freeSlots > 0
        let before = answers.count
        while true {
            beginRound(now: context.now, into: &answers)
            let hasNews = answers.count > before || (!hadSlots && freeSlots > 0)
            let woken = wait(until: hasNews ? context.now : min(end, nextEvent(wantsSlot: !hadSlots)))
            for (connection, socket) in watchList.ready { connection.act(on: socket) }
            work(into: &answers)
            if woken || answers.count > before || context.now >= end || (!hadSlots && freeSlots > 0) { return }
        }
    }

    /// Starts a round: passes on answers from outside a poll, takes back requests that are too late, and assigns
    /// waiting requests to connections.
    func beginRound(now: MonotonicTime, into answers: inout [PushAnswer]) {
        context.now = now
        if !early.isEmpty {
            answers += early
            early = []
        }
        takeBackLate(into: &answers)
        placeQueued()
    }

    /// Returns when a timeout is due even if no socket becomes ready.
    func nextEvent(wantsSlot: Bool) -> MonotonicTime {
        let timers = connections.reduce(context.nextCheck) { min($0, $1.timerAt) }
        return wantsSlot || !queue.isEmpty ? min(timers, nextPermittedConnect()) : timers
    }

    /// Waits until a socket is ready or a moment is reached.
    ///
    /// - Returns: whether a waker was called.
    private func wait(until moment: MonotonicTime) -> Bool {
        if context.socketsChanged {
            context.socketsChanged = false
            watchList.rebuild(waker: wakeSignal.descriptor, connections: connections)
        }
        watchList.wait(nanoseconds: moment == .max ? .max - 1_000_000 : moment - context.now)
        context.now = monotonicNow()
        guard watchList.isWoken else { return false }
        wakeSignal.consume()
        return true
    }

    /// Checks all requests on connections from which a request was taken back, so that requests on a dead connection do
    /// not wait for their own deadlines.
    private func checkSuspects(into answers: inout [PushAnswer]) {
        for connection in connections where connection.isSuspect {
            connection.isSuspect = false
            repeat { connection.actOnAll() } while takeFinished(on: connection, into: &answers)
        }
    }

    /// Reports the requests that libcurl has finished.
    ///
    /// - Returns: whether one failed, so that the other requests on the connection should be checked too.
    private func takeFinished(on connection: Connection, into answers: inout [PushAnswer]) -> Bool {
        var oneFailed = false
        while let (transfer, code) = connection.nextFinished() {
            if code != CURLE_OK { oneFailed = true }
            conclude(transfer, code, on: connection, into: &answers)
        }
        return oneFailed && connection.machine.started > 0
    }

    /// Ends a round after libcurl has processed its sockets: reports finished and overdue requests.
    func work(into answers: inout [PushAnswer]) {
        for connection in connections {
            connection.actOnTimer()
            while takeFinished(on: connection, into: &answers) { connection.actOnAll() }
        }
        if context.now >= context.nextCheck {
            expire(into: &answers)
            checkSuspects(into: &answers)
        }
        tendConnections()
    }
}
