/// Appends the primitives of header blocks (RFC 7541 section 5).
extension OutputSpan<UInt8> {
    /// The most bytes that ``append(integer:prefix:first:)`` appends.
    static var integerLimit: Int { 10 }

    /// Appends an integer (section 5.1) that starts in the low bits of a byte.
    mutating func append(integer number: Int, prefix: Int, first: UInt8) {
        let most = 1 << prefix - 1
        guard number >= most else { return append(first | UInt8(number)) }
        append(first | UInt8(most))
        var rest = number - most
        while rest >= 128 {
            append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        append(UInt8(rest))
    }

    /// Appends a string (section 5.2) without Huffman coding.
    mutating func append(string bytes: [UInt8]) {
        append(integer: bytes.count, prefix: 7, first: 0)
        append(copying: bytes)
    }

    /// Appends a number as a string of its decimal digits.
    mutating func append(digitsOf number: Int) {
        let place = count
        append(0)
        append(decimal: UInt(number))
        self[place] = UInt8(count - place - 1)
    }

    private mutating func append(decimal number: UInt) {
        if number >= 10 { append(decimal: number / 10) }
        append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
    }

    /// Appends bytes as they are; traps if they do not fit.
    mutating func append(copying bytes: some RandomAccessCollection<UInt8>) {
        let copied: Void? = bytes.withContiguousStorageIfAvailable { source in
            unsafe withUnsafeMutableBufferPointer { target, count in
                precondition(source.count <= target.count - count, "more bytes than there is room for")
                guard let start = target.baseAddress, let from = source.baseAddress else { return }
                unsafe (start + count).initialize(from: from, count: source.count)
                count += source.count
            }
        }
        precondition(copied != nil, "only arrays and their slices are copied")
    }
}
