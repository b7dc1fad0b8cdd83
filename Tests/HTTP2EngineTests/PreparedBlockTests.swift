import PushTransport
import Testing

@testable import HTTP2Engine

/// Header blocks that are written into the outgoing bytes without an array between.
struct PreparedBlockTests {
    private let blocks: [HeaderBlock]

    init() throws {
        let token = try HeaderField("authorization", "bearer " + String(repeating: "x", count: 300))
        blocks = try [
            HeaderBlock([token, HeaderField("apns-topic", "com.example.shop")], varyingName: "apns-id"),
            HeaderBlock([token, HeaderField("apns-expiration", "1700000000")]),
        ]
    }

    private func request(_ block: Int, path: Int = 74, varying: Int = 36, body: Int = 100) throws -> PushRequest {
        try PushRequest(
            tag: 0,
            path: [UInt8(ascii: "/")] + [UInt8](repeating: UInt8(ascii: "p"), count: path),
            head: blocks[block],
            varyingValue: block == 0 ? [UInt8](repeating: UInt8(ascii: "v"), count: varying) : [],
            body: PushBody([UInt8](repeating: 1, count: body))
        )
    }

    /// Returns an encoder whose table has the fields of all blocks, and which has prepared one of them.
    private func encoder(preparing block: Int) throws -> HeaderEncoder {
        var encoder = HeaderEncoder(authority: "localhost")
        var unused: [UInt8] = []
        for next in [0, 1, 0, 1, block] { encoder.encode(try request(next), into: &unused) }
        return encoder
    }

    /// The lengths at which an integer of HPACK or the number of digits grows.
    @Test(arguments: [0, 1, 9, 10, 99, 100, 126, 127, 128, 254, 255, 999, 1000, 16_000, 100_000])
    func aPreparedBlockHasTheBytesOfAFreshOne(_ length: Int) throws {
        for block in [0, 1] {
            for request in try [
                request(block, path: length), request(block, varying: max(length, 1)), request(block, body: length),
            ] {
                var fresh = try encoder(preparing: 1 - block)
                #expect(fresh.prepared(for: request) == nil)
                var expected: [UInt8] = []
                fresh.encode(request, into: &expected)
                var encoder = try encoder(preparing: block)
                let prepared = try #require(encoder.prepared(for: request))
                #expect(expected.count <= prepared.limit(request))
                var outgoing = OutgoingBytes()
                let appended = outgoing.append(upTo: prepared.limit(request)) { prepared.append(request, to: &$0) }
                #expect(appended == expected.count)
                #expect(taken(from: &outgoing) == expected)
                var bytes: [UInt8] = []
                encoder.encode(request, into: &bytes)
                #expect(bytes == expected)
            }
        }
    }

    @Test func nothingIsPreparedOnceTheTableHasChanged() throws {
        var encoder = try encoder(preparing: 0)
        #expect(encoder.prepared(for: try request(0)) != nil)
        encoder.limitTable(to: 100)
        #expect(encoder.prepared(for: try request(0)) == nil)
        var other = try self.encoder(preparing: 0)
        let block = try HeaderBlock([HeaderField("apns-topic", "com.example.other")])
        var unused: [UInt8] = []
        other.encode(try PushRequest(tag: 0, path: [47], head: block, body: PushBody([])), into: &unused)
        #expect(other.prepared(for: try request(0)) == nil)
    }

    /// Whatever room is left, what was there before stays as it was.
    @Test func aFullBufferGrows() throws {
        let request = try request(0)
        var encoder = try encoder(preparing: 0)
        var block: [UInt8] = []
        encoder.encode(request, into: &block)
        let prepared = try #require(encoder.prepared(for: request))
        let capacity = 3 * OutgoingBytes.slice
        for room in 0...prepared.limit(request) + 1 {
            let before = (0..<capacity - room).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ room) }
            for isPartlyTaken in [false, true] {
                var outgoing = OutgoingBytes()
                before.withUnsafeBufferPointer { outgoing.append($0) }
                let start = isPartlyTaken ? outgoing.withNext { $0.count } : 0
                _ = outgoing.append(upTo: prepared.limit(request)) { prepared.append(request, to: &$0) }
                try #require(taken(from: &outgoing) == before[start...] + block)
            }
        }
    }

    private func taken(from outgoing: inout OutgoingBytes) -> [UInt8] {
        var bytes: [UInt8] = []
        while !outgoing.isEmpty {
            _ = outgoing.withNext { next in
                bytes += next
                return next.count
            }
        }
        return bytes
    }
}
