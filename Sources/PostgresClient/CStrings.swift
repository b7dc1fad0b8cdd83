/// Lends an array of C strings, null where a value is nil.
///
/// - Parameters:
///   - strings: must not contain U+0000, where C would end them.
///   - body: gets the array, valid during the call only.
/// - Returns: what `body` returns.
func withCStrings<Result>(
    _ strings: [String?],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
) -> Result {
    let size = strings.reduce(0) { $0 + ($1.map { $0.utf8.count + 1 } ?? 0) }
    return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: size) { bytes in
        unsafe withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: strings.count + 1) { pointers in
            var used = 0
            for (index, string) in strings.enumerated() {
                guard let string else {
                    unsafe pointers.initializeElement(at: index, to: nil)
                    continue
                }
                let end = unsafe bytes[used...].initialize(fromContentsOf: string.utf8.map(CChar.init(bitPattern:)))
                unsafe bytes.initializeElement(at: end, to: 0)
                unsafe pointers.initializeElement(
                    at: index,
                    to: UnsafePointer(bytes.baseAddress).map { unsafe $0 + used }
                )
                used = end + 1
            }
            // One more than asked for, so that there is an address even for an empty list.
            unsafe pointers.initializeElement(at: strings.count, to: nil)
            guard let start = pointers.baseAddress else { preconditionFailure("an allocation without an address") }
            return unsafe body(UnsafePointer(start))
        }
    }
}

extension String {
    /// The most bytes of a text of an error or a notice.
    ///
    /// SQL that others wrote says what is in it, and it is stored, shown and sent on.
    static let serverTextLimit = 2048

    /// A text of an error or a notice, cut at a character's end where it is longer than ``serverTextLimit``.
    ///
    /// - Parameter start: what libpq owns, ended by a NUL.
    init(serverText start: UnsafePointer<CChar>) {
        var length = 0
        while length <= Self.serverTextLimit, unsafe start[length] != 0 { length += 1 }
        guard length > Self.serverTextLimit else {
            unsafe self.init(cString: start)
            return
        }
        var bytes = unsafe UnsafeRawBufferPointer(start: start, count: Self.serverTextLimit).map { $0 }
        // Bytes that go on with a character, and then the one that begins it.
        while let last = bytes.last, last & 0xC0 == 0x80 { bytes.removeLast() }
        if let last = bytes.last, last & 0x80 != 0 { bytes.removeLast() }
        self = String(decoding: bytes, as: UTF8.self) + "…"
    }
}
