internal import CCurl
import PushTransport

/// What became of each request.
extension HTTP2Client {
    /// Reports a request that libcurl is done with.
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
            // The connection it was meant for is gone, and it may not open another by itself.
            connection.machine.withdraw()
            connection.lose()
            place(transfer)
        } else {
            failConnect(
                transfer,
                on: connection,
                FateCause(code) == .tls ? .tls : .connect,
                flooding(on: connection) ?? settings.connectProblem(of: transfer, code),
                into: &answers
            )
        }
    }

    /// Reports what is overdue, and finds out when to look again.
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

    /// Answers, once the time to send is over, everything that libcurl has not begun to write, whatever it waits for.
    ///
    /// It may be over for this poll only, and what is left would go out as soon as its connection stands. libcurl keeps no
    /// half-open connection for another request, so one that was being opened goes with its first.
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
            let isHTTP2 = transfer.isHTTP2()
            if isHTTP2 || context.rules.allowsHTTP1 { replaceOldConnection() } else { refuseOldProtocol(connection) }
            if !isHTTP2 { takeTurns(on: connection) }
        }
        if let request = transfer.request {
            // A configured provider says nothing beside 200; Web Push services may say that they dropped the message.
            let isPlain = status == 200 && context.rules.destinations == nil
            let headers = isPlain ? [] : transfer.headers(options.answerHeaders)
            var answer = PushAnswer(tag: request.tag, status: status, body: transfer.answerBody, headers: headers)
            answer.connection = connection.name
            answers.append(answer)
        }
    }

    /// Reports the status of a request that was taken back while the rest of its answer was awaited.
    ///
    /// - Returns: whether there is one; the request is ended then.
    func reportStatus(of transfer: Transfer, on connection: Connection, into answers: inout [PushAnswer]) -> Bool {
        let status = transfer.hasStarted ? transfer.status() : 0
        guard status > 0 else { return false }
        report(transfer, status, on: connection, into: &answers)
        // Where there are no streams, libcurl had to end the connection to be rid of the answer.
        if takesTurns { connection.lose() }
        discard(transfer)
        return true
    }

    /// A peer that chose HTTP/1.1 cannot be sent to at any speed, so its connections count as failed.
    private func refuseOldProtocol(_ connection: Connection) {
        connection.lose()
        context.state.failedConnectsInARow += 1
        context.state.lastConnectFailure = "the server does not speak HTTP/2 (ALPN did not choose h2)"
    }

    private func takeTurns(on connection: Connection) {
        connection.machine.takeTurns()
        takesTurns = true
    }

    /// Answers everybody who waits for a connection that may never be opened.
    ///
    /// It is no failure of the provider, so it is not counted as one.
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
        // Who shares slots with other origins does not hold them while nobody is there to connect to.
        let isAlone = connections.allSatisfy { $0.machine.phase == .retired }
        if isAlone && context.rules.destinations != nil { finishQueue(cause, detail, into: &answers) }
    }

    private func fail(on connection: Connection) {
        let wasEstablished = connection.machine.phase == .established
        connection.machine.fail(wasStarted: true)
        if wasEstablished && connection.machine.phase == .retired { context.state.lost += 1 }
    }

    private func dueTime(of transfer: Transfer) -> MonotonicTime {
        if transfer.hasStarted { return transfer.deadlineAt }
        let connectTimeout = options.connectTimeout.nanoseconds
        // Where others are answered, a place on a connection will come free.
        guard let connection = transfer.connection else {
            return max(transfer.submittedAt, lastAnswerAt) + connectTimeout
        }
        guard connection.machine.wasEstablished else {
            // libcurl has the same time limit and gives the better reason.
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
            // Silence since it was sent, for every request: the connection is not to be trusted.
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
