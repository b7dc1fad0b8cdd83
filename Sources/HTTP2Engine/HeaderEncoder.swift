internal import PushTransport

/// Encodes the header blocks of one connection's requests (HPACK, RFC 7541), most of whose fields repeat.
///
/// A field that repeats is inserted into the peer's dynamic table once and takes a byte or two from then on. This
/// includes the provider token, as Apple allows. Of a field that changes with each request or event only the name is
/// inserted. nghttp2's own encoder never indexes `authorization`, and encodes the token again for each push.
///
/// Values are sent without Huffman coding (section 5.2): a few bytes more, for less CPU.
struct HeaderEncoder {
    private struct Field: Hashable {
        let name: String
        let value: String

        /// The size of its entry in the table (section 4.1).
        var size: Int { name.utf8.count + value.utf8.count + 32 }
    }

    /// The table's size before the peer sets another (RFC 9113 section 6.5.2); a larger one is never used.
    private static let initialCapacity = 4096
    private static let staticCount = 61
    /// The names in the static table (appendix A) that requests use.
    private static let staticNames = [
        ":authority": 1, ":method": 2, ":path": 4, "accept": 19, "authorization": 23, "content-encoding": 26,
        "content-length": 28,
        "content-type": 31, "user-agent": 58,
    ]
    /// Shared fields whose value differs for nearly every event.
    private static let changing: Set<String> = ["apns-expiration", "apns-collapse-id"]

    private let authority: String
    /// The table's fields, oldest first, from `evicted` on; a field's number is the count of fields inserted before it.
    private var fields: [Field] = []
    private var evicted = 0
    private var size = 0
    private var capacity = initialCapacity
    /// The smallest capacity since the last size update that was sent; nil if none is due.
    private var smallestUntold: Int?
    /// The number of the newest entry for each field, and for each name, in the table.
    private var numbers: [Field: Int] = [:]
    private var nameNumbers: [String: Int] = [:]
    /// The last block that inserted nothing; nil while a size update is due.
    private var prepared: PreparedBlock?

    /// Creates an encoder for a new connection.
    ///
    /// - Parameter authority: the value of `:authority`.
    init(authority: String) {
        self.authority = authority
    }

    private var inserted: Int { evicted + fields.count }

    /// Returns what ``encode(_:into:)`` would append for a request, if that is prepared; it changes nothing in the table.
    func prepared(for request: PushRequest) -> PreparedBlock? {
        guard let prepared, prepared.block === request.head, prepared.inserted == inserted else { return nil }
        return prepared
    }

    /// Appends the header block of a request.
    ///
    /// - Parameters:
    ///   - request: the request; its block must be the next one that is sent to the peer.
    ///   - bytes: the array to append to.
    mutating func encode(_ request: PushRequest, into bytes: inout [UInt8]) {
        tellCapacity(to: &bytes)
        guard let prepared = prepared(for: request) else { return encodeAnew(request, into: &bytes) }
        bytes.append(addingCapacity: prepared.limit(request)) { prepared.append(request, to: &$0) }
    }

    /// Adopts a new table limit of the peer (SETTINGS_HEADER_TABLE_SIZE).
    mutating func limitTable(to limit: Int) {
        let wanted = min(limit, Self.initialCapacity)
        guard wanted != capacity else { return }
        capacity = wanted
        smallestUntold = min(smallestUntold ?? wanted, wanted)
        makeRoom(for: 0)
        prepared = nil
    }

    private mutating func encodeAnew(_ request: PushRequest, into bytes: inout [UInt8]) {
        let before = inserted
        let start = bytes.count
        appendMethod(request.head.method, to: &bytes)
        append(Field(name: ":authority", value: authority), changes: false, to: &bytes)
        let lead = Array(bytes[start...])
        bytes.append(addingCapacity: OutputSpan<UInt8>.pathLimit(request)) { $0.append(pathOf: request) }
        var varyingName: [UInt8] = []
        if let name = request.head.varyingName {
            let start = bytes.count
            let field = Field(name: name, value: String(decoding: request.varyingValue, as: UTF8.self))
            let isNew = appendName(of: field, changes: true, to: &bytes)
            varyingName = Array(bytes[start...])
            Self.append(string: request.varyingValue, to: &bytes)
            if isNew { insert(field) }
        }
        let end = bytes.count
        for field in request.head.fields {
            let changes = Self.changing.contains(field.name)
            append(Field(name: field.name, value: field.value), changes: changes, to: &bytes)
        }
        guard inserted == before else { return }
        let tail = Array(bytes[end...])
        prepared = PreparedBlock(request.head, inserted: inserted, lead: lead, varyingName: varyingName, tail: tail)
    }

    /// Appends method and scheme: `:method: POST` and `:scheme: https` are in the static table.
    private mutating func appendMethod(_ method: RequestMethod, to bytes: inout [UInt8]) {
        guard method != .post else { return bytes += [0x80 | 3, 0x80 | 7] }
        append(Field(name: ":method", value: method.rawValue), changes: false, to: &bytes)
        bytes.append(0x80 | 7)
    }

    // MARK: Fields

    private mutating func append(_ field: Field, changes: Bool, to bytes: inout [UInt8]) {
        if let index = numbers[field].map(index) {
            return Self.append(index, prefix: 7, first: 0x80, to: &bytes)
        }
        let isNew = appendName(of: field, changes: changes, to: &bytes)
        Self.append(string: field.value.utf8, to: &bytes)
        if isNew { insert(field) }
    }

    /// Starts a literal field (section 6.2).
    ///
    /// - Returns: whether the peer inserts the field into its table; the caller then inserts it here too.
    private mutating func appendName(of field: Field, changes: Bool, to bytes: inout [UInt8]) -> Bool {
        let isNamed = Self.staticNames[field.name] != nil || nameNumbers[field.name] != nil
        // A field that would evict nearly all others is not worth inserting.
        let isNew = !(changes && isNamed) && field.size <= capacity * 3 / 4
        // Evicts before the name's index is used, because the entry with that name may be evicted.
        if isNew { makeRoom(for: field.size) }
        let index = Self.staticNames[field.name] ?? nameNumbers[field.name].map(index)
        Self.append(index ?? 0, prefix: isNew ? 6 : 4, first: isNew ? 0x40 : 0, to: &bytes)
        if index == nil { Self.append(string: field.name.utf8, to: &bytes) }
        return isNew
    }

    // MARK: Table

    /// Returns a field's index in the table from its number (section 2.3.3).
    private func index(_ number: Int) -> Int { Self.staticCount + inserted - number }

    private mutating func insert(_ field: Field) {
        numbers[field] = inserted
        nameNumbers[field.name] = inserted
        fields.append(field)
        size += field.size
    }

    private mutating func makeRoom(for more: Int) {
        while size + more > capacity, !fields.isEmpty {
            let oldest = fields.removeFirst()
            if numbers[oldest] == evicted { numbers[oldest] = nil }
            if nameNumbers[oldest.name] == evicted { nameNumbers[oldest.name] = nil }
            evicted += 1
            size -= oldest.size
        }
    }

    /// Appends the table size updates, which must precede the next block (section 4.2).
    private mutating func tellCapacity(to bytes: inout [UInt8]) {
        guard let smallest = smallestUntold else { return }
        smallestUntold = nil
        Self.append(smallest, prefix: 5, first: 0x20, to: &bytes)
        if smallest < capacity { Self.append(capacity, prefix: 5, first: 0x20, to: &bytes) }
    }

    // MARK: Bytes

    /// Appends an integer (section 5.1) that starts in the low bits of a byte.
    private static func append(_ number: Int, prefix: Int, first: UInt8, to bytes: inout [UInt8]) {
        bytes.append(addingCapacity: OutputSpan<UInt8>.integerLimit) {
            $0.append(integer: number, prefix: prefix, first: first)
        }
    }

    private static func append(string: some Collection<UInt8>, to bytes: inout [UInt8]) {
        append(string.count, prefix: 7, first: 0, to: &bytes)
        bytes += string
    }
}
