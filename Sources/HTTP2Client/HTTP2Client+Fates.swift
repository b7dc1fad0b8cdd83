internal import CCurl
import PushTransport

/// What became of each request.
extension HTTP2Client {
    /// Reports a request that libcurl is done with.
    func conclude(_ transfer: Transfer, _ code: CURLcode, on connection: Connection, into answers: inout [PushAnswer]) {
        let status = transfer.hasStarted ? transfer.status() : 0
        if status > 0 {
            report(transfer, status, on: connection, into: &answers)
        } else if transfer.hasStarted {
            fail(transfer, on: connection)
            finish(transfer, .ambiguous, .lost, lossDetail(transfer, code), into: &answers)
        } else if transfer.wasTooLate {
            connection.machine.withdraw()
            finish(transfer, .notSent, .sendUntil, "the time to send had ended", into: &answers)
        } else if connection.machine.wasEstablished {
            // The connection it was meant for is gone, and it may not open another by itself.
            connection.machine.withdraw()
            connection.lose()
            place(transfer)
        } else {
            failConnect(transfer, on: connection, isTLS(code) ? .tls : .connect, transfer.detail(code), into: &answers)
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

    private func report(
        _ transfer: Transfer,
        _ status: UInt16,
        on connection: Connection,
        into answers: inout [PushAnswer]
    ) {
        if connection.machine.answer(now: context.now) {
            if transfer.isHTTP2() { replaceOldConnection() } else { refuseOldProtocol(connection) }
        }
        if let request = transfer.request {
            let headers = status == 200 ? [] : transfer.headers(options.answerHeaders)
            answers.append(PushAnswer(tag: request.tag, status: status, body: transfer.answerBody, headers: headers))
        }
        recycle(transfer)
    }

    /// A peer that chose HTTP/1.1 cannot be sent to at any speed, so its connections count as failed.
    private func refuseOldProtocol(_ connection: Connection) {
        connection.lose()
        context.state.failedConnectsInARow += 1
        context.state.lastConnectFailure = "the server does not speak HTTP/2 (ALPN did not choose h2)"
    }

    private func failConnect(
        _ transfer: Transfer,
        on connection: Connection,
        _ cause: FateCause,
        _ detail: String,
        into answers: inout [PushAnswer]
    ) {
        connection.machine.fail(wasStarted: false)
        context.state.failedConnectsInARow += 1
        context.state.lastConnectFailure = detail
        finish(transfer, .notSent, cause, detail, into: &answers)
    }

    private func fail(_ transfer: Transfer, on connection: Connection) {
        let wasEstablished = connection.machine.phase == .established
        connection.machine.fail(wasStarted: true)
        if wasEstablished && connection.machine.phase == .retired { context.state.lost += 1 }
    }

    private func dueTime(of transfer: Transfer) -> MonotonicTime {
        if transfer.hasStarted { return transfer.deadlineAt }
        let connectTimeout = options.connectTimeout.nanoseconds
        guard let connection = transfer.connection else { return transfer.submittedAt + connectTimeout }
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
        if transfer.hasStarted {
            // Silence since it was sent, for every request: the connection is not to be trusted.
            if connection.machine.lastAnswerAt <= transfer.startedAt { connection.lose() }
            fail(transfer, on: connection)
            finish(transfer, .ambiguous, .deadline, "no answer in time", into: &answers)
        } else if connection.machine.wasEstablished {
            connection.machine.withdraw()
            connection.lose()
            place(transfer)
        } else {
            failConnect(transfer, on: connection, .connect, "connecting took too long", into: &answers)
        }
    }

    private func lossDetail(_ transfer: Transfer, _ code: CURLcode) -> String {
        switch code {
        case CURLE_OK: "the connection ended without an answer"
        case CURLE_ABORTED_BY_CALLBACK, CURLE_COULDNT_CONNECT, CURLE_SEND_FAIL_REWIND:
            "the connection was lost before an answer came"
        default: transfer.detail(code)
        }
    }

    private func isTLS(_ code: CURLcode) -> Bool {
        switch code {
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT,
            CURLE_SSL_CRL_BADFILE, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_ENGINE_NOTFOUND:
            true
        default: false
        }
    }
}
