internal import CCurl
internal import PushTransport

extension OriginClient {
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
    func nextEvent() -> MonotonicTime {
        let timers = connections.reduce(context.nextCheck) { min($0, $1.timerAt) }
        return queue.isEmpty ? timers : min(timers, nextPermittedConnect())
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
