internal import CCurl
public import PushTransport
internal import Threading

extension HTTP2Client {
    /// Sends, receives, and waits until there is an answer, a slot came free, or somebody woke it.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait at most; zero only does what can be done at once.
    ///   - answers: answers are appended here.
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

    /// Begins a round: passes on what was answered since the last, takes back what is too late, and hands waiting requests
    /// to connections.
    func beginRound(now: MonotonicTime, into answers: inout [PushAnswer]) {
        context.now = now
        if !early.isEmpty {
            answers += early
            early = []
        }
        takeBackLate(into: &answers)
        placeQueued()
    }

    /// When something has to be done even if no socket becomes ready.
    func nextEvent(wantsSlot: Bool) -> MonotonicTime {
        let timers = connections.reduce(context.nextCheck) { min($0, $1.timerAt) }
        return wantsSlot || !queue.isEmpty ? min(timers, nextPermittedConnect()) : timers
    }

    /// Waits for sockets.
    ///
    /// - Returns: whether somebody woke it.
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

    /// Gives the requests of connections that somebody gave up a last look, so that those whose connection ended do not
    /// wait for their own deadlines.
    private func checkSuspects(into answers: inout [PushAnswer]) {
        for connection in connections where connection.isSuspect {
            connection.isSuspect = false
            repeat { connection.actOnAll() } while takeFinished(on: connection, into: &answers)
        }
    }

    /// Reports what libcurl is done with.
    ///
    /// - Returns: whether one failed, so that the others on the connection should be looked at as well.
    private func takeFinished(on connection: Connection, into answers: inout [PushAnswer]) -> Bool {
        var oneFailed = false
        while let (transfer, code) = connection.nextFinished() {
            if code != CURLE_OK { oneFailed = true }
            conclude(transfer, code, on: connection, into: &answers)
        }
        return oneFailed && connection.machine.started > 0
    }

    /// Ends a round, in which libcurl has looked at its sockets: takes what it is done with and what is overdue.
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
