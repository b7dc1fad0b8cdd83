internal import CNGHTTP2
internal import PushTransport

/// Reports how the requests of a session ended.
extension Session {
    /// Returns the next request that has ended.
    func nextFinished() -> UnsafeMutablePointer<Slot>? {
        guard unsafe state.pointee.finishedCount > 0 else { return nil }
        unsafe state.pointee.finishedCount -= 1
        return unsafe table.slots + Int(state.pointee.finished[state.pointee.finishedCount])
    }

    /// Returns the answer of an ended slot, and frees the slot.
    func answer(_ slot: UnsafeMutablePointer<Slot>) -> PushAnswer {
        let index = unsafe slot.pointee.index
        let tag = unsafe table.requests[Int(index)].tag
        defer { table.release(index) }
        let status = unsafe slot.pointee.status
        let partial = partialAnswers.isEmpty ? nil : partialAnswers.removeValue(forKey: index)
        guard status == 0 else {
            guard let partial else { return PushAnswer(tag: tag, status: status) }
            return PushAnswer(tag: tag, status: status, body: partial.body, headers: partial.headers)
        }
        let (fate, cause, detail) = unsafe fate(of: slot)
        let body = fate == .notProcessed ? lastWords : []
        return PushAnswer(tag: tag, without: fate, cause: cause, detail: detail, body: body)
    }

    private func fate(of slot: UnsafeMutablePointer<Slot>) -> (Fate, FateCause, String) {
        let wasMade = unsafe slot.pointee.wireStart != .max
        let fate: Fate = wasMade ? .ambiguous : .notSent
        switch unsafe slot.pointee.end {
        case .tooLate: return (fate, .sendUntil, "the time to send had ended")
        case .refusedLocally: return (.notSent, .local, failure ?? "nghttp2 did not take it")
        case .closed: break
        }
        let code = unsafe slot.pointee.closeCode
        if code == NGHTTP2_REFUSED_STREAM.rawValue {
            let how = goaway.map { "GOAWAY, \($0)" } ?? "REFUSED_STREAM"
            return (.notProcessed, .lost, "the server did not process it (\(how))")
        }
        return (fate, .lost, "the stream was closed without an answer (\(errorName(code)))")
    }

    /// Whether the peer may have received any byte of a request.
    func mayHaveArrived(_ slot: UnsafeMutablePointer<Slot>) -> Bool {
        unsafe slot.pointee.stage != .waiting && slot.pointee.wireStart < state.pointee.accepted
    }

    /// Returns the requests whose answer is overdue, and computes when to check next.
    ///
    /// - Parameter now: the current time.
    /// - Returns: the indices of their slots.
    func overdue(now: MonotonicTime) -> [Int] {
        nextDeadline = .max
        return (0..<table.capacity).filter { index in
            guard unsafe table.slots[index].stage == .submitted else { return false }
            let deadline = unsafe table.slots[index].deadlineAt
            if deadline > now { nextDeadline = min(nextDeadline, deadline) }
            return deadline <= now
        }
    }

    /// Ends an overdue request, resets its stream and frees its slot.
    ///
    /// - Parameter slot: a slot from ``overdue(now:)``.
    /// - Returns: its answer, with the status if that has arrived.
    func giveUp(_ slot: UnsafeMutablePointer<Slot>) -> PushAnswer {
        let stream = unsafe slot.pointee.streamID
        let none = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        unsafe nghttp2_session_set_stream_user_data(session, stream, nil)
        if unsafe state.pointee.current == slot { unsafe state.pointee.current = nil }
        let code = unsafe nghttp2_submit_rst_stream(session, none, stream, NGHTTP2_CANCEL.rawValue)
        if code != 0 { fail(code) }
        return unsafe settle(slot, .ambiguous, .deadline, "no answer in time")
    }

    /// Ends all remaining requests.
    ///
    /// - Parameters:
    ///   - cause: the cause to report.
    ///   - detail: the explanation for logs.
    /// - Returns: their answers; requests that the socket never took are reported as not sent.
    func settle(_ cause: FateCause, _ detail: String) -> [PushAnswer] {
        var answers: [PushAnswer] = []
        while let (request, _) = table.takeBack() {
            answers.append(PushAnswer(tag: request.tag, without: .notSent, cause: cause, detail: detail))
        }
        for index in 0..<table.capacity where unsafe table.slots[index].stage != .free {
            let slot = unsafe table.slots + index
            unsafe answers.append(settle(slot, mayHaveArrived(slot) ? .ambiguous : .notSent, cause, detail))
        }
        return answers
    }

    private func settle(
        _ slot: UnsafeMutablePointer<Slot>,
        _ fate: Fate,
        _ cause: FateCause,
        _ detail: String
    ) -> PushAnswer {
        if unsafe slot.pointee.status > 0 { return unsafe answer(slot) }
        let index = unsafe slot.pointee.index
        let tag = unsafe table.requests[Int(index)].tag
        partialAnswers[index] = nil
        table.release(index)
        return PushAnswer(tag: tag, without: fate, cause: cause, detail: detail)
    }

    /// Keeps an answer's header field if the options name it.
    func keep(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, of index: Int32) {
        guard let wanted = options.answerHeaders.first(where: { unsafe $0.utf8.elementsEqual(name) }) else { return }
        let text = unsafe String(decoding: value, as: UTF8.self)
        guard let field = try? HeaderField(wanted, text) else { return }
        partialAnswers[index, default: PartialAnswer()].headers.append(field)
    }

    /// Keeps a part of an answer's body, up to the limit.
    func keep(body: UnsafeBufferPointer<UInt8>, of index: Int32) {
        let kept = partialAnswers[index]?.body.count ?? 0
        let part = unsafe body.prefix(max(options.answerLimit - kept, 0))
        unsafe partialAnswers[index, default: PartialAnswer()].body.append(contentsOf: part)
    }
}
