internal import CNGHTTP2
public import PushTransport
internal import Threading

extension HTTP2Engine {
    /// Sends, receives, and waits until there is an answer, a slot came free, or somebody woke it.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait at most; zero only does what can be done at once.
    ///   - answers: answers are appended here.
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
            work(into: &answers)
            if woken || answers.count > before || now >= end || (!hadSlots && freeSlots > 0) { return }
        }
    }

    /// Sends what waits on a connection; what the lease came too late for ends here.
    private func write(on connection: Connection, into answers: inout [PushAnswer]) {
        connection.write(now: now, sendUntil: sendUntil)
        collect(connection, into: &answers)
    }

    /// Does what sockets and time ask for.
    private func work(into answers: inout [PushAnswer]) {
        let before = answers.count
        for connection in connections {
            if connection.advance(now: now) {
                counters.established += 1
                counters.failedConnectsInARow = 0
                counters.lastConnectFailure = ""
                // Before anything is read, so that even the fastest peer finds the first request there.
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

    /// When something has to be done even if no socket becomes ready.
    private func nextEvent(wantsSlot: Bool) -> MonotonicTime {
        var next = nextExpiry
        for connection in connections {
            // What was found broken while writing is to be reported at once.
            next = min(next, connection.hasMore || connection.failure != nil ? now : connection.nextEvent)
        }
        return wantsSlot || !queue.isEmpty ? min(next, nextPermittedConnect()) : next
    }

    /// Waits for sockets.
    ///
    /// - Returns: whether somebody woke it.
    private func wait(until moment: MonotonicTime) -> Bool {
        for connection in connections { connection.watch(by: poller) }
        let pause = min(slicing.pause(now: now), max(moment - now, 0))
        // What was said stays said.
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
