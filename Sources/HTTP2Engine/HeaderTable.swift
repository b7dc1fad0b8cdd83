internal import CNGHTTP2
internal import PushTransport

/// A header block in nghttp2's form, made once and patched for each request that uses it.
///
/// What never changes lies in memory of its own, which nghttp2 reads without copying; requests keep their table until
/// their answer came.
@safe
final class HeaderTable {
    let block: HeaderBlock
    private let memory: UnsafeMutablePointer<UInt8>
    private let fields: UnsafeMutablePointer<nghttp2_nv>
    private let count: Int
    private static let path = 3
    private static let length = 4
    private static let varying = 5

    init(_ block: HeaderBlock, authority: String) {
        self.block = block
        var pairs = [
            (":method", "POST"), (":scheme", "https"), (":authority", authority), (":path", ""), ("content-length", ""),
        ]
        if let name = block.varyingName { pairs.append((name, "")) }
        pairs += block.fields.map { ($0.name, $0.value) }
        let bytes = pairs.reduce(1) { $0 + $1.0.utf8.count + $1.1.utf8.count }
        count = pairs.count
        unsafe memory = .allocate(capacity: bytes)
        unsafe fields = .allocate(capacity: count)
        var next = unsafe memory
        for (index, pair) in pairs.enumerated() {
            let (name, value) = (Array(pair.0.utf8), Array(pair.1.utf8))
            unsafe next.initialize(from: name, count: name.count)
            unsafe (next + name.count).initialize(from: value, count: value.count)
            // Names and values that pass through HPACK's table for nothing would push out those that come again.
            let changes = index == Self.path || index == Self.length
            let flags = Self.keep | (changes ? UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue) : 0)
            unsafe (fields + index).initialize(
                to: nghttp2_nv(
                    name: next,
                    value: next + name.count,
                    namelen: name.count,
                    valuelen: value.count,
                    flags: flags
                )
            )
            unsafe next += name.count + value.count
        }
    }

    deinit {
        unsafe fields.deallocate()
        unsafe memory.deallocate()
    }

    /// Hands a request to nghttp2.
    ///
    /// - Parameters:
    ///   - slot: where it is; its text is filled.
    ///   - content: what the slot keeps alive; by pointer, since a copy of the request counts five references.
    ///   - session: the session.
    ///   - namesVarying: whether the varying field goes into HPACK's table this time, as Apple advises for the first: later
    ///     ones then name it by its number.
    /// - Returns: the stream, or nghttp2's error code.
    func submit(
        _ slot: UnsafeMutablePointer<Slot>,
        of content: UnsafePointer<SlotTable.Content>,
        to session: OpaquePointer,
        namesVarying: Bool
    ) -> Int32 {
        let path = unsafe content.pointee.request.path
        let varying = unsafe content.pointee.request.varyingValue
        unsafe slot.pointee.reserveText(path.count + varying.count + 20)
        var next = unsafe slot.pointee.text
        unsafe place(path, at: &next, Self.path)
        unsafe placeNumber(slot.pointee.contentLength, at: &next, Self.length)
        if block.varyingName != nil {
            unsafe place(varying, at: &next, Self.varying)
            let flag = namesVarying ? 0 : UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue)
            unsafe fields[Self.varying].flags = Self.keep | flag
        }
        let read: nghttp2_data_source_read_callback? = unsafe slot.pointee.contentLength == 0 ? nil : readBody
        return unsafe cnghttp2_submit(session, fields, count, read, slot)
    }

    private static let keep =
        UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue) | UInt8(NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue)

    private func place(_ bytes: [UInt8], at next: inout UnsafeMutablePointer<UInt8>, _ field: Int) {
        unsafe next.update(from: bytes, count: bytes.count)
        unsafe fields[field].value = next
        unsafe fields[field].valuelen = bytes.count
        unsafe next += bytes.count
    }

    private func placeNumber(_ number: Int, at next: inout UnsafeMutablePointer<UInt8>, _ field: Int) {
        var (digits, rest) = (1, number)
        while rest >= 10 {
            rest /= 10
            digits += 1
        }
        rest = number
        for index in stride(from: digits - 1, through: 0, by: -1) {
            unsafe next[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        unsafe fields[field].value = next
        unsafe fields[field].valuelen = digits
        unsafe next += digits
    }
}
