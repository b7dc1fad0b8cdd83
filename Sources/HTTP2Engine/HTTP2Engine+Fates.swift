import PushTransport

/// Reports the answer or the failure of each request.
extension HTTP2Engine {
    /// Reports the requests of a connection that have ended, each with its own result.
    func collect(_ connection: Connection, into answers: inout [PushAnswer]) {
        while let slot = unsafe connection.session.nextFinished() {
            let wasMade = unsafe slot.pointee.wireStart != .max
            unsafe lastAnswerTook = now - slot.pointee.startedAt
            var answer = unsafe connection.session.answer(slot)
            answer.connection = connection.name
            report(answer, wasMade: wasMade, on: connection, into: &answers)
        }
    }

    private func report(
        _ answer: PushAnswer,
        wasMade: Bool,
        on connection: Connection,
        into answers: inout [PushAnswer]
    ) {
        if answer.fate == .answered {
            lastAnswerAt = now
            if connection.machine.answer(now: now) { replaceOldConnection() }
        } else if wasMade {
            let wasEstablished = connection.machine.phase == .established
            connection.machine.fail()
            if wasEstablished && connection.machine.phase == .retired { counters.lost += 1 }
        } else {
            connection.machine.withdraw()
        }
        answers.append(answer)
        inFlight -= 1
    }

    /// Reports overdue requests.
    func expire(into answers: inout [PushAnswer]) {
        for connection in connections where connection.session.nextDeadline <= now {
            for index in connection.session.overdue(now: now) { giveUp(index, on: connection, into: &answers) }
        }
        let limit = options.connectTimeout.nanoseconds
        // While other requests are being answered, a slot will become free.
        guard let oldest = queue.first, now >= max(oldest.submittedAt, lastAnswerAt) + limit else { return }
        let late = queue.filter { now >= max($0.submittedAt, lastAnswerAt) + limit }
        queue.removeAll { now >= max($0.submittedAt, lastAnswerAt) + limit }
        for waiting in late { fail(waiting.request, .queue, "no connection took it in time", into: &answers) }
    }

    /// When ``expire(into:)`` is next due.
    var nextExpiry: MonotonicTime {
        var next = MonotonicTime.max
        for connection in connections { next = min(next, connection.session.nextDeadline) }
        guard let oldest = queue.first else { return next }
        return min(next, max(oldest.submittedAt, lastAnswerAt) + options.connectTimeout.nanoseconds)
    }

    private func giveUp(_ index: Int, on connection: Connection, into answers: inout [PushAnswer]) {
        let session = connection.session
        let slot = unsafe session.table.slots + index
        // A single request cannot be removed from bytes that the socket does not take; the whole connection can be
        // closed.
        guard unsafe session.mayHaveArrived(slot) else {
            return connection.end(.lost, "the server did not read for as long as an answer may take")
        }
        let isUnanswered = unsafe slot.pointee.status == 0
        let startedAt = unsafe slot.pointee.startedAt
        if isUnanswered, connection.machine.lastAnswerAt <= startedAt, connection.machine.phase == .established {
            // The peer has answered no request since this one was sent, so the connection is retired. PING
            // acknowledgements and window updates show that the peer is alive, but not that it processes requests.
            counters.lost += 1
            connection.machine.retire()
        }
        let answer = unsafe session.giveUp(slot)
        report(answer, wasMade: true, on: connection, into: &answers)
    }

    /// Reports all requests of a connection that has ended, and closes it.
    func bury(_ connection: Connection, _ failure: Connection.Failure, into answers: inout [PushAnswer]) {
        collect(connection, into: &answers)
        if connection.machine.establishedAt == 0 {
            counters.failedConnectsInARow += 1
            counters.lastConnectFailure = failure.detail
        } else if connection.machine.phase == .established {
            counters.lost += 1
            connection.machine.retire()
            reclaim(from: connection)
        }
        settle(connection, failure.cause, failure.detail, into: &answers)
        connection.close()
    }

    /// Answers the remaining requests of a connection that can carry no more data.
    func settle(
        _ connection: Connection,
        _ cause: FateCause,
        _ detail: String,
        into answers: inout [PushAnswer]
    ) {
        connection.machine.retire()
        for answer in connection.session.settle(cause, detail) {
            connection.machine.withdraw()
            answers.append(answer)
            inFlight -= 1
        }
    }

    /// Answers, after the time to send has ended, every request that has not been started, including those that wait
    /// for a connection.
    ///
    /// Without this, such a request could still go out in a later poll with a new limit, once its connection is
    /// established.
    func takeBackLate(into answers: inout [PushAnswer]) {
        guard inFlight > 0, ContinuousClock.now >= sendUntil else { return }
        let detail = "the time to send had ended"
        failQueue(.sendUntil, detail, into: &answers)
        for connection in connections {
            while let (request, _) = connection.session.table.takeBack() {
                connection.machine.withdraw()
                fail(request, .sendUntil, detail, into: &answers)
            }
        }
    }

    /// Answers every request that waits for a connection.
    func failQueue(_ cause: FateCause, _ detail: String, into answers: inout [PushAnswer]) {
        let waiting = queue
        queue = []
        for one in waiting { fail(one.request, cause, detail, into: &answers) }
    }

    private func fail(
        _ request: PushRequest,
        _ cause: FateCause,
        _ detail: String,
        into answers: inout [PushAnswer]
    ) {
        answers.append(PushAnswer(tag: request.tag, without: .notSent, cause: cause, detail: detail))
        inFlight -= 1
    }
}
