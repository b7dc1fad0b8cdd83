internal import CNGHTTP2
internal import PushTransport

/// One HTTP/2 session on nghttp2: requests and bytes in, fates and bytes out.
///
/// Knows no socket and no clock. A request is given to nghttp2 only when its frame can be made at once, so that none waits where its fate cannot be seen.
@safe
final class Session {
    let table: SlotTable
    /// What the callbacks share with it.
    let state: UnsafeMutablePointer<SessionState>
    let session: OpaquePointer
    private var outgoing: OutgoingBytes
    /// By slot.
    var partialAnswers: [Int32: PartialAnswer] = [:]
    let options: TransportOptions
    private var encoder: HeaderEncoder
    /// The request whose HEADERS frame is to be made, and room for its block.
    private var beginning: UnsafeMutablePointer<Slot>?
    private var block: [UInt8] = []
    private let frameHead = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 9)
    /// When a request may be overdue; never later than the truth.
    var nextDeadline = MonotonicTime.max
    /// Why it cannot go on; nil while it can.
    private(set) var failure: String?
    /// What the peer's GOAWAY says beside its code, up to ``lastWordsLimit``; of APNs a JSON object with the reason.
    private(set) var lastWords: [UInt8] = []
    /// As much of it as may stand in a log.
    private var farewell = ""

    /// The fields and the body of an answer other than 200.
    struct PartialAnswer {
        var headers: [HeaderField] = []
        var body: [UInt8] = []
    }

    private init(
        owning session: OpaquePointer,
        state: UnsafeMutablePointer<SessionState>,
        table: SlotTable,
        authority: String,
        options: TransportOptions
    ) {
        unsafe self.session = session
        unsafe self.state = state
        self.table = table
        self.options = options
        encoder = HeaderEncoder(authority: authority)
        outgoing = OutgoingBytes()
    }

    deinit {
        unsafe nghttp2_session_del(session)
        unsafe frameHead.deallocate()
        unsafe state.pointee.finished.deallocate()
        unsafe state.deinitialize(count: 1)
        unsafe state.deallocate()
    }

    /// Makes a session; its first bytes are the preface and our SETTINGS.
    ///
    /// - Parameters:
    ///   - authority: where its requests go.
    ///   - options: streams, and what to keep of answers.
    /// - Returns: the session.
    /// - Throws: ``TransportError`` for want of memory.
    static func open(_ authority: String, _ options: TransportOptions) throws(TransportError) -> Session {
        let table = SlotTable(capacity: max(options.streams, 1))
        let state = UnsafeMutablePointer<SessionState>.allocate(capacity: 1)
        var handle: OpaquePointer?
        guard let callbacks = SessionCallbacks.shared,
            unsafe nghttp2_session_client_new2(&handle, callbacks.pointer, state, callbacks.option) == 0,
            let handle = unsafe handle
        else {
            unsafe state.deallocate()
            throw TransportError(reason: .call("nghttp2_session_client_new2", problem: "out of memory"))
        }
        let session = unsafe Session(owning: handle, state: state, table: table, authority: authority, options: options)
        unsafe state.initialize(
            to: SessionState(
                owner: Unmanaged.passUnretained(session),
                requests: table.requests,
                finished: .allocate(capacity: table.capacity),
                readLimit: TransportOptions.readLimit(keeping: options.answerLimit)
            )
        )
        try session.submitSettings()
        return session
    }

    private func submitSettings() throws(TransportError) {
        let settings = [
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: 65_536),
        ]
        let none = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        let submitted = unsafe nghttp2_submit_settings(session, none, settings, settings.count)
        // Answers are looked at as they come, so the window need not hold them back.
        let widened = unsafe nghttp2_session_set_local_window_size(session, none, 0, 1 << 20)
        guard submitted == 0, widened == 0 else {
            throw TransportError(reason: .call("nghttp2_submit_settings", problem: "out of memory"))
        }
    }

    // MARK: Bytes out

    /// Bytes that the socket has not taken yet.
    var hasOutgoing: Bool { !outgoing.isEmpty }

    /// Whether anything that waits for the socket belongs to a request of which the peer has nothing yet.
    var holdsUnsentRequest: Bool {
        for index in 0..<table.capacity where unsafe isUnsent(table.slots + index) { return true }
        return false
    }

    private func isUnsent(_ slot: UnsafeMutablePointer<Slot>) -> Bool {
        unsafe slot.pointee.stage == .submitted && slot.pointee.wireStart >= state.pointee.accepted
    }

    /// Gives a request to nghttp2 for each whose bytes fit, and gathers what nghttp2 wants to say.
    ///
    /// - Parameters:
    ///   - now: the time, from which deadlines count.
    ///   - isTooLate: whether nothing may begin any more.
    func fill(now: MonotonicTime, isTooLate: Bool) {
        unsafe state.pointee.isTooLate = isTooLate
        while failure == nil, outgoing.count < OutgoingBytes.slice {
            if produce() { continue }
            guard let slot = unsafe table.nextWaiting() else { return }
            unsafe begin(slot, now: now)
        }
    }

    /// Moves one frame of nghttp2's.
    private func produce() -> Bool {
        var bytes: UnsafePointer<UInt8>?
        let count = unsafe nghttp2_session_mem_send(session, &bytes)
        if count < 0 { fail(Int32(count)) }
        guard count > 0, let bytes = unsafe bytes else { return false }
        let frame = unsafe UnsafeBufferPointer(start: bytes, count: count)
        if let slot = unsafe beginning, unsafe frame[3] == UInt8(NGHTTP2_HEADERS.rawValue) {
            unsafe appendHeaders(of: slot, insteadOf: frame)
        } else {
            unsafe append(frame)
        }
        return true
    }

    private func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        unsafe outgoing.append(bytes)
        unsafe state.pointee.produced += UInt64(bytes.count)
    }

    /// Appends the HEADERS frame of a request with all its fields, where nghttp2 made one with the method only.
    private func appendHeaders(of slot: UnsafeMutablePointer<Slot>, insteadOf frame: UnsafeBufferPointer<UInt8>) {
        block.removeAll(keepingCapacity: true)
        unsafe encoder.encode(table.requests[Int(slot.pointee.index)], into: &block)
        // What does not fit into one frame goes on in others (RFC 9113 section 6.10).
        var rest = block[...]
        repeat {
            let part = rest.prefix(Self.frameLimit)
            rest = rest.dropFirst(part.count)
            let isFirst = part.startIndex == block.startIndex
            let kind = isFirst ? NGHTTP2_HEADERS.rawValue : NGHTTP2_CONTINUATION.rawValue
            var flags = rest.isEmpty ? UInt8(NGHTTP2_FLAG_END_HEADERS.rawValue) : 0
            if isFirst { flags |= unsafe frame[4] & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) }
            for index in 0..<3 { unsafe frameHead[index] = UInt8(truncatingIfNeeded: part.count >> (16 - 8 * index)) }
            unsafe frameHead[3] = UInt8(kind)
            unsafe frameHead[4] = flags
            for index in 5..<9 { unsafe frameHead[index] = frame[index] }
            unsafe append(UnsafeBufferPointer(frameHead))
            unsafe part.withUnsafeBufferPointer { unsafe append($0) }
        } while !rest.isEmpty
    }

    /// The largest frame that every peer takes (RFC 9113 section 4.2).
    private static let frameLimit = 16_384

    private func begin(_ slot: UnsafeMutablePointer<Slot>, now: MonotonicTime) {
        let index = unsafe Int(slot.pointee.index)
        unsafe slot.pointee.stage = .submitted
        unsafe slot.pointee.startedAt = now
        guard unsafe !state.pointee.isTooLate else {
            unsafe slot.pointee.end = .tooLate
            unsafe state.pointee.finish(slot)
            return
        }
        let read: nghttp2_data_source_read_callback? = unsafe slot.pointee.contentLength == 0 ? nil : readBody
        let stream = unsafe cnghttp2_submit(session, read, slot)
        guard stream > 0 else {
            unsafe slot.pointee.end = .refusedLocally
            unsafe state.pointee.finish(slot)
            return fail(stream)
        }
        unsafe slot.pointee.streamID = stream
        let deadline = unsafe now + table.requests[index].deadline.nanoseconds
        unsafe slot.pointee.deadlineAt = deadline
        nextDeadline = min(nextDeadline, deadline)
        unsafe beginning = slot
        _ = produce()
        unsafe beginning = nil
        // It would wait inside nghttp2, which was not to happen: the limit was looked at.
        if unsafe slot.pointee.wireStart == .max, failure == nil { failure = "nghttp2 did not send a request at once" }
    }

    /// The next bytes for the socket: at most what fits into one TLS record.
    func withOutgoing(_ body: (UnsafeRawBufferPointer) -> Int) {
        let taken = unsafe outgoing.withNext(body)
        unsafe state.pointee.accepted += UInt64(taken)
    }

    // MARK: Bytes in

    /// Takes what the peer said.
    func receive(_ bytes: UnsafeRawBufferPointer) {
        unsafe state.pointee.bytesSinceEnd += bytes.count
        let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let taken = unsafe nghttp2_session_mem_recv(session, start, bytes.count)
        if let limit = unsafe state.pointee.newTableLimit {
            // The peer's table shrank to the smallest in between, and is empty as far as that says (RFC 7541 section 4.2).
            encoder.limitTable(to: Int(limit.smallest))
            encoder.limitTable(to: Int(limit.last))
            unsafe state.pointee.newTableLimit = nil
        }
        if taken < 0 { return fail(Int32(taken)) }
        // What one answer may have at most, for each that is due, and as much again for what belongs to none.
        let allowed = unsafe (1 + table.count) * (4 * state.pointee.readLimit)
        if unsafe state.pointee.bytesSinceEnd > allowed, failure == nil {
            failure = "the server says much and answers nothing"
        }
    }

    /// Whether the peer or nghttp2 has ended the session, so that no answer can come any more.
    var isOver: Bool {
        unsafe failure != nil || nghttp2_session_want_read(session) == 0
    }

    /// The peer's stream limit, if it was told since this was last asked.
    func takeLimit() -> UInt32? {
        defer { unsafe state.pointee.newLimit = nil }
        return unsafe state.pointee.newLimit
    }

    /// The error code of the peer's GOAWAY, in nghttp2's words, and what it says beside; nil before one came.
    var goaway: String? {
        guard let code = unsafe state.pointee.goaway else { return nil }
        return farewell.isEmpty ? errorName(code) : "\(errorName(code)): \(farewell)"
    }

    /// How much is kept of what a GOAWAY says.
    private static let lastWordsLimit = 1024

    /// Keeps what a GOAWAY says, and what of it may stand in a log.
    func keep(goaway words: UnsafeBufferPointer<UInt8>) {
        lastWords = unsafe Array(words.prefix(Self.lastWordsLimit))
        farewell = unsafe String(decoding: words.prefix(200).filter { (0x20...0x7E).contains($0) }, as: UTF8.self)
    }

    /// Asks whether the peer is there.
    func ping() {
        let none = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        if unsafe nghttp2_submit_ping(session, none, nil) != 0 { failure = "nghttp2_submit_ping: out of memory" }
    }

    /// Says goodbye, as the last thing.
    func terminate() {
        _ = unsafe nghttp2_session_terminate_session(session, NGHTTP2_NO_ERROR.rawValue)
        _ = produce()
    }

    /// nghttp2 returned an error, after which the session cannot go on.
    func fail(_ code: Int32) {
        if failure == nil { failure = unsafe "HTTP/2: " + String(cString: nghttp2_strerror(code)) }
    }

    /// What HTTP/2 calls an error (RFC 9113 section 7).
    func errorName(_ code: UInt32) -> String { unsafe String(cString: nghttp2_http2_strerror(code)) }
}
