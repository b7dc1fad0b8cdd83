/// Passes an array of C strings to `body`; nil becomes a null pointer.
///
/// - Parameters:
///   - strings: must not contain U+0000, which would end the C string early.
///   - body: receives the array, which is valid during the call only.
/// - Returns: the result of `body`.
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
            // One element more than requested, so that an empty list has an address too.
            unsafe pointers.initializeElement(at: strings.count, to: nil)
            guard let start = pointers.baseAddress else { preconditionFailure("an allocation without an address") }
            return unsafe body(UnsafePointer(start))
        }
    }
}

extension String {
    /// The maximum size of an error or notice text, in bytes.
    ///
    /// SQL written by users can determine the text, and the text is stored, displayed and forwarded.
    static let serverTextLimit = 2048

    /// Copies an error or notice text and truncates it to ``serverTextLimit`` at a character boundary.
    ///
    /// - Parameter start: a NUL-terminated string owned by libpq.
    init(serverText start: UnsafePointer<CChar>) {
        var length = 0
        while length <= Self.serverTextLimit, unsafe start[length] != 0 { length += 1 }
        guard length > Self.serverTextLimit else {
            unsafe self.init(cString: start)
            return
        }
        var bytes = unsafe UnsafeRawBufferPointer(start: start, count: Self.serverTextLimit).map { $0 }
        // Removes the continuation bytes of the last character, then its first byte.
        while let last = bytes.last, last & 0xC0 == 0x80 { bytes.removeLast() }
        if let last = bytes.last, last & 0x80 != 0 { bytes.removeLast() }
        self = String(decoding: bytes, as: UTF8.self) + "…"
    }
}
