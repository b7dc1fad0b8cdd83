/// The bytes that wait for the socket: many frames, joined so that one TLS record holds several.
@safe
struct OutgoingBytes: ~Copyable {
    /// The size of the data in one TLS record.
    static let slice = 16 * 1024
    private var buffer: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0
    /// The number of bytes that were offered last and not taken.
    private var offered = 0

    init() {
        // One slice less one byte, and one more frame.
        unsafe buffer = .allocate(byteCount: 3 * Self.slice, alignment: 16)
    }

    deinit { unsafe buffer.deallocate() }

    var isEmpty: Bool { start == end }
    var count: Int { end - start }

    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        makeRoom(bytes.count)
        guard let to = unsafe buffer.baseAddress, let from = bytes.baseAddress else { return }
        unsafe (to + end).copyMemory(from: from, byteCount: bytes.count)
        end += bytes.count
    }

    /// Lets a closure append bytes.
    ///
    /// - Parameters:
    ///   - limit: the most bytes that it appends; more trap.
    ///   - body: appends the bytes.
    /// - Returns: how many were appended.
    mutating func append(upTo limit: Int, _ body: (inout OutputSpan<UInt8>) -> Void) -> Int {
        makeRoom(limit)
        let room = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[end..<end + limit]).bindMemory(to: UInt8.self)
        var span = unsafe OutputSpan(buffer: room, initializedCount: 0)
        body(&span)
        let appended = unsafe span.finalize(for: room)
        end += appended
        return appended
    }

    /// Offers the next bytes to a closure, at most one slice.
    ///
    /// Bytes that were not taken are offered again unchanged, even if more have been appended. OpenSSL may already have
    /// made a record of them: with a longer slice it could send that record, find no room for the rest, and leave
    /// unknown how much had been taken.
    ///
    /// - Parameter body: takes all of the bytes or none, and returns how many it took.
    /// - Returns: the result of `body`.
    mutating func withNext(_ body: (UnsafeRawBufferPointer) -> Int) -> Int {
        if offered == 0 { offered = min(count, Self.slice) }
        let taken = unsafe body(UnsafeRawBufferPointer(rebasing: buffer[start..<start + offered]))
        guard taken > 0 else { return 0 }
        start += taken
        offered = 0
        if start == end { (start, end) = (0, 0) }
        return taken
    }

    private mutating func makeRoom(_ more: Int) {
        guard unsafe end + more > buffer.count else { return }
        let kept = count
        let size = unsafe max(buffer.count, kept + more)
        let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
        unsafe larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[start..<end]))
        unsafe buffer.deallocate()
        unsafe buffer = larger
        (start, end) = (0, kept)
    }
}
