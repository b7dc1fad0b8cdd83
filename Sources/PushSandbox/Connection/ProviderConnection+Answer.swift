import NIOCore
import NIOHPACK
import NIOHTTP2

extension ProviderConnection {
    /// Responds to a complete request, or applies a fault instead.
    func perform(
        _ request: PushRequest,
        _ judgement: Judgement,
        _ session: any ProviderSession,
        provider: SimulatedService,
        on id: HTTP2StreamID
    ) {
        let decision = decision(about: judgement, provider: provider)
        let outcome = Outcome(decision, judgement, session, unixMicroseconds: request.unixMicroseconds)
        if outcome.isProcessed { judgement.effect?() }
        state.ledger.append(
            Reception(
                request: request,
                connection: number,
                stream: Int(id),
                provider: provider,
                target: judgement.target,
                identity: judgement.identity,
                status: outcome.answer?.status ?? 0,
                reason: outcome.answer?.reason,
                fault: decision.label,
                isAmbiguous: outcome.isAmbiguous,
                delivers: judgement.delivers,
                shownBody: judgement.shownBody,
                problem: judgement.problem,
                presentation: judgement.presentation,
                membership: judgement.membership
            )
        )
        guard decision.delayMilliseconds > 0 else { return carryOut(outcome, on: id) }
        context?.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(decision.delayMilliseconds)) {
            // The client may have reset the stream, or the connection may have ended, meanwhile.
            guard self.streams[id] != nil else { return }
            self.carryOut(outcome, on: id)
            self.flush()
        }
    }

    private func decision(about judgement: Judgement, provider: SimulatedService) -> FaultDecision {
        guard !state.faults.isEmpty else { return FaultDecision() }
        return state.faults.decide(
            provider: provider,
            environment: environment,
            target: judgement.target,
            accepted: judgement.answer.isAccepted
        )
    }

    private func carryOut(_ outcome: Outcome, on id: HTTP2StreamID) {
        if let answer = outcome.answer {
            send(answer, on: id)
        }
        switch outcome.action {
        case .goAway(let fault)?: goAway(fault, at: id)
        case .refuse?: reset(id, with: .refusedStream)
        case .reset(let code?)?: reset(id, with: HTTP2ErrorCode(networkCode: code))
        case .reset(nil)?: vanish { $0.cut(reset: true) }
        case .silence?: vanish { $0.silence() }
        case .close?: end()
        case .status?, .slow?, .streamLimit?, .window?, nil: endIfDrained()
        }
    }

    private func send(_ answer: ProviderAnswer, on id: HTTP2StreamID) {
        guard streams.removeValue(forKey: id) != nil else { return }
        var headers = HPACKHeaders()
        headers.reserveCapacity(answer.headers.count + 1)
        headers.add(name: ":status", value: answer.status == 200 ? "200" : String(answer.status))
        for (name, value) in answer.headers {
            headers.add(name: name, value: value)
        }
        var body = ByteBuffer(string: answer.body ?? "")
        write(.headers(.init(headers: headers, endStream: body.readableBytes == 0)), on: id)
        if answer.splitsBody, body.readableBytes > 1, let half = body.readSlice(length: body.readableBytes / 2) {
            write(.data(.init(data: .byteBuffer(half))), on: id)
        }
        if body.readableBytes > 0 {
            write(.data(.init(data: .byteBuffer(body), endStream: true)), on: id)
        }
    }

    private func reset(_ id: HTTP2StreamID, with code: HTTP2ErrorCode) {
        guard streams.removeValue(forKey: id) != nil else { return }
        write(.rstStream(code), on: id)
        endIfDrained()
    }

    private func goAway(_ fault: GoAwayFault, at id: HTTP2StreamID) {
        let last: HTTP2StreamID =
            switch fault.lastStream {
            // Client streams have odd numbers; 0 means that none was processed.
            case .below: HTTP2StreamID(max(Int(id) - 2, 0))
            case .at: id
            case .above: .maxID
            }
        flush()
        tap.sendGoAway(lastStream: Int32(Int(last)), debug: fault.debug)
        lastStream = last
        streams = streams.filter { $0.key <= last }
        if !fault.answers {
            streams[id] = nil
        }
        context?.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(fault.closeAfterMilliseconds)) {
            self.isDraining = true
            self.endIfDrained()
        }
    }

    /// Closes the connection after a GOAWAY, once every stream that it promised to process has a response.
    func endIfDrained() {
        guard isDraining, streams.isEmpty else { return }
        end()
    }

    /// Closes with TLS's close_notify.
    func end() {
        guard !isEnding else { return }
        flush()
        isEnding = true
        streams = [:]
        context?.close(promise: nil)
    }

    /// Leaves the connection without notifying the client.
    private func vanish(_ how: (TransportHandler) -> Void) {
        isEnding = true
        streams = [:]
        how(transport)
    }
}

/// The result of a request.
private struct Outcome {
    /// The response; nil for none.
    let answer: ProviderAnswer?
    let action: FaultAction?
    /// Whether the client, without a response, has to assume that the request may have been processed.
    let isAmbiguous: Bool
    /// Whether the service processes the request; the client may get no answer to a request that was processed.
    let isProcessed: Bool

    init(_ decision: FaultDecision, _ judgement: Judgement, _ session: any ProviderSession, unixMicroseconds: Int64) {
        action = decision.action
        switch decision.action {
        case nil, .slow?, .streamLimit?, .window?:
            answer = judgement.answer
            isAmbiguous = false
            isProcessed = true
        case .status(let fault)?:
            answer = session.answer(fault, to: judgement, unixMicroseconds: unixMicroseconds)
            isAmbiguous = false
            isProcessed = false
        case .goAway(let fault)?:
            answer = fault.answers ? judgement.answer : nil
            isAmbiguous = !fault.answers && fault.lastStream != .below
            isProcessed = fault.answers || isAmbiguous
        case .refuse?:
            answer = nil
            isAmbiguous = false
            isProcessed = false
        case .reset(let code)?:
            answer = nil
            isAmbiguous = code != HTTP2ErrorCode.refusedStream.networkCode
            isProcessed = isAmbiguous
        case .silence?, .close?:
            answer = nil
            isAmbiguous = true
            isProcessed = true
        }
    }
}
