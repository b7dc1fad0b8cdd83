internal import CNGHTTP2
internal import PushTransport

/// One HTTP/2 session on nghttp2: requests and received bytes go in, answers and bytes to send come out.
///
/// Uses no socket and no clock. A request is submitted to nghttp2 only when its frame can be produced at once, because
/// it would be unknown whether a request that waits inside nghttp2 was sent.
@safe
final class Session {
    let table: SlotTable
    /// The memory shared with nghttp2's callbacks.
    let state: UnsafeMutablePointer<SessionState>
    let session: OpaquePointer
    private var outgoing: OutgoingBytes
    /// The answers in progress, by slot.
    var partialAnswers: [Int32: PartialAnswer] = [:]
    let options: TransportOptions
    private var encoder: HeaderEncoder
    /// The request whose HEADERS frame is being produced, and the buffer for its header block.
    private var beginning: UnsafeMutablePointer<Slot>?
    private var block: [UInt8] = []
    /// A lower bound of the next deadline.
    var nextDeadline = MonotonicTime.max
    /// The reason why the session cannot continue; nil while it can.
    private(set) var failure: String?
    /// The debug data of the peer's GOAWAY, up to ``lastWordsLimit``; from APNs a JSON object with the reason.
    private(set) var lastWords: [UInt8] = []
    /// The part of the debug data that is safe to log.
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
        unsafe state.pointee.finished.deallocate()
        unsafe state.deinitialize(count: 1)
        unsafe state.deallocate()
    }

    /// Creates a session, whose first bytes are the connection preface and the client's SETTINGS.
    ///
    /// - Parameters:
    ///   - authority: the value of `:authority` in its requests.
    ///   - options: the number of streams, and what to keep of answers.
    /// - Returns: the session.
    /// - Throws: ``TransportError`` if memory runs out.
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
        // Answers are consumed as they arrive, so a small window would only delay them.
        let widened = unsafe nghttp2_session_set_local_window_size(session, none, 0, 1 << 20)
        guard submitted == 0, widened == 0 else {
            throw TransportError(reason: .call("nghttp2_submit_settings", problem: "out of memory"))
        }
    }

    // MARK: Bytes out

    /// Whether bytes wait for the socket.
    var hasOutgoing: Bool { !outgoing.isEmpty }

    /// Whether the waiting bytes include the start of a request, so that the peer has nothing of it yet.
    var holdsUnsentRequest: Bool {
        for index in 0..<table.capacity where unsafe isUnsent(table.slots + index) { return true }
        return false
    }

    private func isUnsent(_ slot: UnsafeMutablePointer<Slot>) -> Bool {
        unsafe slot.pointee.stage == .submitted && slot.pointee.wireStart >= state.pointee.accepted
    }

    /// Submits waiting requests to nghttp2 while their bytes fit, and collects nghttp2's output.
    ///
    /// - Parameters:
    ///   - now: the current time, from which deadlines count.
    ///   - isTooLate: whether no request may be started any more.
    func fill(now: MonotonicTime, isTooLate: Bool) {
        unsafe state.pointee.isTooLate = isTooLate
        while failure == nil, outgoing.count < OutgoingBytes.slice {
            if produce() { continue }
            guard let slot = unsafe table.nextWaiting() else { return }
            unsafe begin(slot, now: now)
        }
    }

    /// Moves one frame from nghttp2 to the outgoing bytes.
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

    /// Appends the HEADERS frame of a request with all its fields, in place of nghttp2's frame with the method only.
    private func appendHeaders(of slot: UnsafeMutablePointer<Slot>, insteadOf frame: UnsafeBufferPointer<UInt8>) {
        let request = unsafe table.requests[Int(slot.pointee.index)]
        let last = UInt8(NGHTTP2_FLAG_END_HEADERS.rawValue)
        let end = unsafe frame[4] & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue)
        if let prepared = encoder.prepared(for: request), prepared.limit(request) <= Self.frameLimit {
            return unsafe appendFrame(NGHTTP2_HEADERS, last | end, like: frame, upTo: prepared.limit(request)) {
                prepared.append(request, to: &$0)
            }
        }
        block.removeAll(keepingCapacity: true)
        encoder.encode(request, into: &block)
        // A block that does not fit into one frame continues in CONTINUATION frames (RFC 9113 section 6.10).
        var (rest, kind, flags) = (block[...], NGHTTP2_HEADERS, end)
        repeat {
            let part = rest.prefix(Self.frameLimit)
            rest = rest.dropFirst(part.count)
            if rest.isEmpty { flags |= last }
            unsafe appendFrame(kind, flags, like: frame, upTo: part.count) { $0.append(copying: part) }
            (kind, flags) = (NGHTTP2_CONTINUATION, 0)
        } while !rest.isEmpty
    }

    /// Appends a frame for the stream of another frame.
    private func appendFrame(
        _ kind: nghttp2_frame_type,
        _ flags: UInt8,
        like frame: UnsafeBufferPointer<UInt8>,
        upTo limit: Int,
        _ appendPayload: (inout OutputSpan<UInt8>) -> Void
    ) {
        let head = 9
        let appended = outgoing.append(upTo: head + limit) { bytes in
            bytes.append(repeating: 0, count: 3)
            bytes.append(UInt8(kind.rawValue))
            bytes.append(flags)
            for index in 5..<head { unsafe bytes.append(frame[index]) }
            appendPayload(&bytes)
            let length = bytes.count - head
            for index in 0..<3 { bytes[index] = UInt8(truncatingIfNeeded: length >> (16 - 8 * index)) }
        }
        unsafe state.pointee.produced += UInt64(appended)
    }

    /// The largest frame that every peer accepts (RFC 9113 section 4.2).
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
        // Should not happen, because the stream limit was checked: the request would wait inside nghttp2.
        if unsafe slot.pointee.wireStart == .max, failure == nil { failure = "nghttp2 did not send a request at once" }
    }

    /// Offers the next bytes for the socket, at most one TLS record.
    func withOutgoing(_ body: (UnsafeRawBufferPointer) -> Int) {
        let taken = unsafe outgoing.withNext(body)
        unsafe state.pointee.accepted += UInt64(taken)
    }

    // MARK: Bytes in

    /// Processes bytes from the peer.
    func receive(_ bytes: UnsafeRawBufferPointer) {
        unsafe state.pointee.bytesSinceEnd += bytes.count
        let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let taken = unsafe nghttp2_session_mem_recv(session, start, bytes.count)
        if let limit = unsafe state.pointee.newTableLimit {
            // The table first shrinks to the smallest size announced, which evicts entries (RFC 7541 section 4.2).
            encoder.limitTable(to: Int(limit.smallest))
            encoder.limitTable(to: Int(limit.last))
            unsafe state.pointee.newTableLimit = nil
        }
        if taken < 0 { return fail(Int32(taken)) }
        // The most that one answer may take, for each expected answer, and once more for data that belongs to none.
        let allowed = unsafe (1 + table.count) * (4 * state.pointee.readLimit)
        if unsafe state.pointee.bytesSinceEnd > allowed, failure == nil {
            failure = "the server says much and answers nothing"
        }
    }

    /// Whether the peer or nghttp2 has ended the session, so that no further answer can arrive.
    var isOver: Bool {
        unsafe failure != nil || nghttp2_session_want_read(session) == 0
    }

    /// Returns the peer's stream limit if it has changed since the last call.
    func takeLimit() -> UInt32? {
        defer { unsafe state.pointee.newLimit = nil }
        return unsafe state.pointee.newLimit
    }

    /// The error name of the peer's GOAWAY and its debug data; nil before one arrived.
    var goaway: String? {
        guard let code = unsafe state.pointee.goaway else { return nil }
        return farewell.isEmpty ? errorName(code) : "\(errorName(code)): \(farewell)"
    }

    /// The number of bytes of debug data that are kept.
    private static let lastWordsLimit = 1024

    /// Keeps the debug data of a GOAWAY, and the part that is safe to log.
    func keep(goaway words: UnsafeBufferPointer<UInt8>) {
        lastWords = unsafe Array(words.prefix(Self.lastWordsLimit))
        farewell = unsafe String(decoding: words.prefix(200).filter { (0x20...0x7E).contains($0) }, as: UTF8.self)
    }

    /// Sends a PING.
    func ping() {
        let none = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        if unsafe nghttp2_submit_ping(session, none, nil) != 0 { failure = "nghttp2_submit_ping: out of memory" }
    }

    /// Sends GOAWAY as the last frame.
    func terminate() {
        _ = unsafe nghttp2_session_terminate_session(session, NGHTTP2_NO_ERROR.rawValue)
        _ = produce()
    }

    /// Records an error of nghttp2, after which the session cannot continue.
    func fail(_ code: Int32) {
        if failure == nil { failure = unsafe "HTTP/2: " + String(cString: nghttp2_strerror(code)) }
    }

    /// Returns the name of an HTTP/2 error code (RFC 9113 section 7).
    func errorName(_ code: UInt32) -> String { unsafe String(cString: nghttp2_http2_strerror(code)) }
}
