internal import CCurl
import PushTransport

/// Reports the answer or the failure of each request.
extension OriginClient {
    /// Reports a request that libcurl has finished.
    func conclude(_ transfer: Transfer, _ code: CURLcode, on connection: Connection, into answers: inout [PushAnswer]) {
        let status = transfer.hasStarted ? transfer.status() : 0
        if status > 0 {
            report(transfer, status, on: connection, into: &answers)
            recycle(transfer)
        } else if transfer.hasStarted {
            fail(on: connection)
            finish(transfer, .ambiguous, .lost, flooding(on: connection) ?? lossDetail(transfer, code), into: &answers)
        } else if transfer.wasTooLate {
            connection.machine.withdraw()
            finish(transfer, .notSent, .sendUntil, "the time to send had ended", into: &answers)
        } else if connection.machine.wasEstablished {
            // The connection that the request was assigned to is gone, and the request may not open another one by
            // itself.
            connection.machine.withdraw()
            connection.lose()
            place(transfer)
        } else {
            failConnect(
                transfer,
                on: connection,
                FateCause(code) == .tls ? .tls : .connect,
                flooding(on: connection) ?? transfer.detail(code),
                into: &answers
            )
        }
    }

    /// Reports overdue requests, and computes when to check next.
    func expire(into answers: inout [PushAnswer]) {
        context.nextCheck = .max
        for transfer in transfers where transfer.request != nil {
            let due = dueTime(of: transfer)
            if due > context.now {
                context.checkBy(due)
            } else {
                giveUp(transfer, into: &answers)
            }
        }
    }

    /// Answers, after the time to send has ended, every request that libcurl has not started to write.
    ///
    /// Without this, such a request could still go out in a later poll with a new limit, once its connection is
    /// established. libcurl keeps no half-open connection for another request, so a connection that is being opened
    /// ends with its first request.
    func takeBackLate(into answers: inout [PushAnswer]) {
        guard inFlight > 0, ContinuousClock.now >= context.sendUntil else { return }
        finishQueue(.sendUntil, "the time to send had ended", into: &answers)
        for transfer in transfers where transfer.request != nil && !transfer.hasStarted {
            guard let connection = transfer.connection else { continue }
            connection.remove(transfer)
            connection.machine.fail(wasStarted: false)
            finish(transfer, .notSent, .sendUntil, "the time to send had ended", into: &answers)
        }
    }

    private func report(
        _ transfer: Transfer,
        _ status: UInt16,
        on connection: Connection,
        into answers: inout [PushAnswer]
    ) {
        lastAnswerAt = context.now
        if connection.machine.answer(now: context.now) {
            replaceOldConnection()
            if !transfer.isHTTP2() { takeTurns(on: connection) }
        }
        if let request = transfer.request {
            let headers = transfer.headers(options.answerHeaders)
            var answer = PushAnswer(tag: request.tag, status: status, body: transfer.answerBody, headers: headers)
            answer.connection = connection.name
            answers.append(answer)
        }
    }

    /// Reports the status of a request that was taken back before the rest of its answer arrived.
    ///
    /// - Returns: whether a status had arrived; the request is ended then.
    func reportStatus(of transfer: Transfer, on connection: Connection, into answers: inout [PushAnswer]) -> Bool {
        let status = transfer.hasStarted ? transfer.status() : 0
        guard status > 0 else { return false }
        report(transfer, status, on: connection, into: &answers)
        // Over HTTP/1.1 libcurl has to close the connection to abandon an answer.
        if takesTurns { connection.lose() }
        discard(transfer)
        return true
    }

    private func takeTurns(on connection: Connection) {
        connection.machine.takeTurns()
        takesTurns = true
    }

    /// Answers every request that waits for a connection that the policy forbids.
    ///
    /// This does not count as a failure of the provider.
    private func forbid(
        _ transfer: Transfer,
        on connection: Connection,
        _ refusal: String,
        into answers: inout [PushAnswer]
    ) {
        connection.machine.fail(wasStarted: false)
        finish(transfer, .notSent, .forbidden, refusal, into: &answers)
        finishQueue(.forbidden, refusal, into: &answers)
    }

    private func finishQueue(_ cause: FateCause, _ detail: String, into answers: inout [PushAnswer]) {
        let waiting = queue
        queue = []
        for transfer in waiting { finish(transfer, .notSent, cause, detail, into: &answers) }
    }

    private func failConnect(
        _ transfer: Transfer,
        on connection: Connection,
        _ cause: FateCause,
        _ detail: String,
        into answers: inout [PushAnswer]
    ) {
        if let refusal = connection.refusal { return forbid(transfer, on: connection, refusal, into: &answers) }
        connection.machine.fail(wasStarted: false)
        context.state.failedConnectsInARow += 1
        context.state.lastConnectFailure = detail
        finish(transfer, .notSent, cause, detail, into: &answers)
        // An origin that cannot be reached does not keep the slots that it shares with others.
        if connections.allSatisfy({ $0.machine.phase == .retired }) { finishQueue(cause, detail, into: &answers) }
    }

    private func fail(on connection: Connection) {
        let wasEstablished = connection.machine.phase == .established
        connection.machine.fail(wasStarted: true)
        if wasEstablished && connection.machine.phase == .retired { context.state.lost += 1 }
    }

    private func dueTime(of transfer: Transfer) -> MonotonicTime {
        if transfer.hasStarted { return transfer.deadlineAt }
        let connectTimeout = options.connectTimeout.nanoseconds
        // While other requests are being answered, a slot will become free.
        guard let connection = transfer.connection else {
            return max(transfer.submittedAt, lastAnswerAt) + connectTimeout
        }
        guard connection.machine.wasEstablished else {
            // libcurl has the same time limit and reports a more precise reason, so it gets some time to report.
            return transfer.attachedAt + connectTimeout + stallTime
        }
        return max(transfer.attachedAt, connection.machine.lastAnswerAt) + stallTime
    }

    private func giveUp(_ transfer: Transfer, into answers: inout [PushAnswer]) {
        guard let connection = transfer.connection else {
            queue.removeAll { $0 === transfer }
            finish(transfer, .notSent, .queue, "no connection took it in time", into: &answers)
            return
        }
        connection.remove(transfer)
        connection.isSuspect = true
        if reportStatus(of: transfer, on: connection, into: &answers) { return }
        if transfer.hasStarted {
            // The peer has answered no request since this one was sent, so the connection is retired.
            if connection.machine.lastAnswerAt <= transfer.startedAt { connection.lose() }
            fail(on: connection)
            finish(transfer, .ambiguous, .deadline, "no answer in time", into: &answers)
        } else if connection.machine.wasEstablished {
            connection.machine.withdraw()
            connection.lose()
            place(transfer)
        } else {
            failConnect(transfer, on: connection, .connect, "connecting took too long", into: &answers)
        }
    }

    private func flooding(on connection: Connection) -> String? {
        connection.isFlooded ? "its peer went on without an answer" : nil
    }

    private func lossDetail(_ transfer: Transfer, _ code: CURLcode) -> String {
        switch code {
        case CURLE_OK: "the connection ended without an answer"
        case CURLE_ABORTED_BY_CALLBACK, CURLE_COULDNT_CONNECT, CURLE_SEND_FAIL_REWIND:
            "the connection was lost before an answer came"
        default: transfer.detail(code)
        }
    }
}
