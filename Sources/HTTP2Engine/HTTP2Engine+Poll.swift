internal import CNGHTTP2
public import PushTransport
internal import Threading

extension HTTP2Engine {
    /// Sends, receives, and waits until an answer arrives, a slot becomes free, a connection ends, or a waker is called.
    ///
    /// - Parameters:
    ///   - timeout: the longest time to wait; with zero the call does only what is possible at once.
    ///   - answers: the array to which answers are appended.
    public func poll(timeout: Duration, into answers: inout [PushAnswer]) {
        readClock()
        let end = now + timeout.nanoseconds
        let hadSlots = freeSlots > 0
        let before = answers.count
        while true {
            takeBackLate(into: &answers)
            placeQueued()
            for connection in connections { write(on: connection, into: &answers) }
            let hasNews = answers.count > before || (!hadSlots && freeSlots > 0)
            let woken = wait(until: hasNews ? now : min(end, nextEvent(wantsSlot: !hadSlots)))
            let links = connections.count
            work(into: &answers)
            let hasEnded = connections.count < links
            if woken || hasEnded || answers.count > before || now >= end || (!hadSlots && freeSlots > 0) { return }
        }
    }

    /// Writes a connection's waiting requests, and reports those that are past the end of their lease.
    private func write(on connection: Connection, into answers: inout [PushAnswer]) {
        connection.write(now: now, sendUntil: sendUntil)
        collect(connection, into: &answers)
    }

    /// Handles ready sockets and due timeouts.
    private func work(into answers: inout [PushAnswer]) {
        let before = answers.count
        for connection in connections {
            if connection.advance(now: now) {
                counters.established += 1
                counters.failedConnectsInARow = 0
                counters.lastConnectFailure = ""
                // Written before anything is read, so that the first request reaches even the fastest peer before its
                // answer is read.
                write(on: connection, into: &answers)
            }
            if connection.isReady || connection.hasMore {
                connection.isReady = false
                unsafe connection.read(into: buffer, now: now)
                collect(connection, into: &answers)
            }
        }
        slicing.note(answers: answers.count - before, inFlight: inFlight, took: lastAnswerTook, now: now)
        if now >= nextExpiry { expire(into: &answers) }
        tendConnections(into: &answers)
    }

    /// Returns when a timeout is due even if no socket becomes ready.
    private func nextEvent(wantsSlot: Bool) -> MonotonicTime {
        var next = nextExpiry
        for connection in connections {
            // A failure that was found while writing is reported at once.
            next = min(next, connection.hasMore || connection.failure != nil ? now : connection.nextEvent)
        }
        return wantsSlot || !queue.isEmpty ? min(next, nextPermittedConnect()) : next
    }

    /// Waits until a socket is ready or a moment is reached.
    ///
    /// - Returns: whether a waker was called.
    private func wait(until moment: MonotonicTime) -> Bool {
        for connection in connections { connection.watch(by: poller) }
        let pause = min(slicing.pause(now: now), max(moment - now, 0))
        // The doze does not consume the wake signal, so that the poller below still sees it.
        if pause > 0 { cnghttp2_doze(wakeSignal.descriptor, pause) }
        readClock()
        var isWoken = false
        poller.wait(nanoseconds: moment == .max ? .max - 1_000_000 : moment - now) { name in
            switch name {
            case 0:
                wakeSignal.consume()
                isWoken = true
            case 1: resolverWaker.consume()
            default: connections.first { $0.name == name }?.isReady = true
            }
        }
        readClock()
        return isWoken
    }
}
