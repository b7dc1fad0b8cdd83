internal import PushTransport

/// The encoded fields that the requests of one header block share, valid until the table changes.
final class PreparedBlock {
    let block: HeaderBlock
    /// The number of fields ever inserted; with the next insertion all indices shift.
    let inserted: Int
    /// The fields before the path.
    private let lead: [UInt8]
    /// The start of the varying field, up to its value.
    private let varyingName: [UInt8]
    /// The fields after the varying field.
    private let tail: [UInt8]

    init(_ block: HeaderBlock, inserted: Int, lead: [UInt8], varyingName: [UInt8], tail: [UInt8]) {
        (self.block, self.inserted) = (block, inserted)
        (self.lead, self.varyingName, self.tail) = (lead, varyingName, tail)
    }

    /// Returns an upper bound of the number of bytes that ``append(_:to:)`` appends.
    func limit(_ request: PushRequest) -> Int {
        lead.count + OutputSpan<UInt8>.pathLimit(request) + varyingName.count + OutputSpan<UInt8>.integerLimit
            + request.varyingValue.count + tail.count
    }

    /// Appends the header block of a request of ``block``.
    func append(_ request: PushRequest, to bytes: inout OutputSpan<UInt8>) {
        bytes.append(copying: lead)
        bytes.append(pathOf: request)
        if block.varyingName != nil {
            bytes.append(copying: varyingName)
            bytes.append(string: request.varyingValue)
        }
        bytes.append(copying: tail)
    }
}

extension OutputSpan<UInt8> {
    /// Returns an upper bound of the number of bytes that ``append(pathOf:)`` appends.
    static func pathLimit(_ request: PushRequest) -> Int { request.path.count + 1 + integerLimit + 2 + 20 }

    /// Appends the path and the content length, which are not inserted into the table.
    mutating func append(pathOf request: PushRequest) {
        append(4)
        append(string: request.path)
        append(integer: 28, prefix: 4, first: 0)
        append(digitsOf: request.contentLength)
    }
}
