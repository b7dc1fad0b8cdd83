/// An HTTP/2 frame (RFC 9113 section 4.1), encoded and decoded byte by byte.
struct Frame: Equatable {
    enum Kind: UInt8 {
        case data, headers, priority, reset, settings, pushPromise, ping, goaway, windowUpdate, continuation
    }

    static let endStream: UInt8 = 1
    static let acknowledgement: UInt8 = 1
    static let endHeaders: UInt8 = 4

    var kind: Kind
    var flags: UInt8 = 0
    var stream: UInt32 = 0
    var payload: [UInt8] = []

    var bytes: [UInt8] {
        let count = UInt32(payload.count)
        return Self.bigEndian(count).dropFirst() + [kind.rawValue, flags] + Self.bigEndian(stream) + payload
    }

    static func bigEndian(_ number: UInt32) -> [UInt8] {
        stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
    }

    /// Returns SETTINGS with some values by their identifiers.
    static func settings(_ values: [(UInt8, UInt32)] = []) -> Frame {
        Frame(kind: .settings, payload: values.flatMap { [0, $0.0] + bigEndian($0.1) })
    }

    static func limit(_ streams: UInt32) -> Frame { settings([(3, streams)]) }

    /// Returns a complete answer without a body; 200 and 500 are in HPACK's static table.
    static func answer(_ status: Int, on stream: UInt32, ends: Bool = true) -> Frame {
        let fields: [UInt8] =
            switch status {
            case 200: [0x88]
            case 500: [0x8E]
            default: [0x08, 3] + Array("\(status)".utf8)
            }
        return Frame(
            kind: .headers,
            flags: endHeaders | (ends ? endStream : 0),
            stream: stream,
            payload: fields
        )
    }

    static func data(_ bytes: [UInt8], on stream: UInt32, ends: Bool = false) -> Frame {
        Frame(kind: .data, flags: ends ? endStream : 0, stream: stream, payload: bytes)
    }

    static func reset(_ stream: UInt32, _ code: UInt32) -> Frame {
        Frame(kind: .reset, stream: stream, payload: bigEndian(code))
    }

    static func goaway(last: UInt32, _ code: UInt32 = 0, saying words: String = "") -> Frame {
        Frame(kind: .goaway, payload: bigEndian(last) + bigEndian(code) + Array(words.utf8))
    }

    static func window(_ increment: UInt32, on stream: UInt32) -> Frame {
        Frame(kind: .windowUpdate, stream: stream, payload: bigEndian(increment))
    }

    static let ping = Frame(kind: .ping, payload: [1, 2, 3, 4, 5, 6, 7, 8])

    /// Returns a literal field that is not inserted into HPACK's table.
    static func field(_ name: String, _ value: String) -> [UInt8] {
        [0] + length(name.utf8.count) + Array(name.utf8) + length(value.utf8.count) + Array(value.utf8)
    }

    /// Returns an HPACK length with a prefix of 7 bits (RFC 7541 section 5.1).
    private static func length(_ count: Int) -> [UInt8] {
        guard count >= 127 else { return [UInt8(count)] }
        var (bytes, rest): ([UInt8], Int) = ([127], count - 127)
        while rest >= 128 {
            bytes.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    /// Removes and returns the complete frames in some bytes; an incomplete one remains.
    static func parse(_ bytes: inout [UInt8]) -> [Frame] {
        var frames: [Frame] = []
        while bytes.count >= 9 {
            let count = bytes[..<3].reduce(0) { $0 << 8 | Int($1) }
            guard bytes.count >= 9 + count, let kind = Kind(rawValue: bytes[3]) else { break }
            let stream = bytes[5..<9].reduce(0) { $0 << 8 | UInt32($1) }
            frames.append(Frame(kind: kind, flags: bytes[4], stream: stream, payload: Array(bytes[9..<9 + count])))
            bytes.removeFirst(9 + count)
        }
        return frames
    }
}
