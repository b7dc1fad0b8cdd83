/// Bytes on their way to the socket: many frames, gathered so that a TLS record holds them together.
@safe
struct OutgoingBytes: ~Copyable {
    /// What one TLS record holds.
    static let slice = 16 * 1024
    private var buffer: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0
    /// What was shown last and not taken.
    private var offered = 0

    init() {
        // A slice less one byte, and one more frame.
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

    /// Shows the next bytes, at most a slice.
    ///
    /// What was not taken is shown again as it was, though more has come: OpenSSL may have made a record of it, and would
    /// send that and only then find no room for the rest, so that nobody could say what had been taken.
    ///
    /// - Parameter body: takes all of it or nothing, and tells how many bytes that were.
    /// - Returns: the same.
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
