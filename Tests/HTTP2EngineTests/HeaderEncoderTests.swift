import CNGHTTP2
import PushTransport
import Testing

@testable import HTTP2Engine

/// Header blocks, read by nghttp2's decoder.
struct HeaderEncoderTests {
    private func request(
        _ block: HeaderBlock,
        _ path: String = "/3/device/aa",
        varying: String = "",
        body: [UInt8] = [1, 2, 3]
    ) throws -> PushRequest {
        try PushRequest(
            tag: 0,
            path: Array(path.utf8),
            head: block,
            varyingValue: Array(varying.utf8),
            body: PushBody(body)
        )
    }

    private func fields(of request: PushRequest) -> [String] {
        let path = String(decoding: request.path, as: UTF8.self)
        var fields = [
            ":method: \(request.head.method.rawValue)", ":scheme: https", ":authority: localhost", ":path: \(path)",
        ]
        fields.append("content-length: \(request.contentLength)")
        if let name = request.head.varyingName {
            fields.append("\(name): \(String(decoding: request.varyingValue, as: UTF8.self))")
        }
        return fields + request.head.fields.map { "\($0.name): \($0.value)" }
    }

    @Test func whatStaysIsSentOnceAndOfTheRestTheName() throws {
        let block = try HeaderBlock(
            [
                HeaderField("authorization", "bearer " + String(repeating: "x", count: 300)),
                HeaderField("apns-topic", "com.example.shop"), HeaderField("apns-expiration", "1700000000"),
            ],
            varyingName: "apns-id"
        )
        var encoder = HeaderEncoder(authority: "localhost")
        let decoder = try Decoder()
        let sizes = try (0..<4).map { number in
            let request = try request(block, "/3/device/\(number)", varying: "id-\(number)")
            var bytes: [UInt8] = []
            encoder.encode(request, into: &bytes)
            #expect(try decoder.fields(in: bytes) == fields(of: request))
            return bytes.count
        }
        #expect(sizes[0] > 400)
        // Method, scheme, authority; path; length; id; the block: three literals with indexed names, everything else
        // indexed.
        #expect(sizes[1] == 3 + 13 + 4 + 7 + 3 && sizes[1...].allSatisfy { $0 == sizes[1] })
    }

    @Test func aFieldTooLargeForTheTableIsSentEachTime() throws {
        let block = try HeaderBlock([HeaderField("authorization", String(repeating: "x", count: 4000))])
        var encoder = HeaderEncoder(authority: "localhost")
        let decoder = try Decoder()
        for _ in 0..<3 {
            var bytes: [UInt8] = []
            encoder.encode(try request(block), into: &bytes)
            #expect(bytes.count > 4000)
            #expect(try decoder.fields(in: bytes) == fields(of: request(block)))
        }
    }

    /// A method other than POST is inserted into the table once; blocks of pushes keep their bytes.
    @Test func aMethodIsPartOfTheBlock() throws {
        let post = try HeaderBlock([HeaderField("authorization", "Bearer x")])
        let delete = try HeaderBlock(post.fields, method: .delete)
        var encoder = HeaderEncoder(authority: "localhost")
        let decoder = try Decoder()
        var sizes: [Int] = []
        for block in [post, post, delete, delete, delete, post] {
            let request = try request(block, "/x", body: block.method == .delete ? [] : [1])
            var bytes: [UInt8] = []
            encoder.encode(request, into: &bytes)
            if block.method == .post { #expect(bytes[0] == 0x83 && bytes[1] == 0x87) }
            #expect(try decoder.fields(in: bytes) == fields(of: request))
            sizes.append(bytes.count)
        }
        #expect(sizes[1] == sizes[3] && sizes[3] == sizes[4] && sizes[4] == sizes[5] && sizes[2] > sizes[3])
        #expect(encoder.prepared(for: try request(post, "/x")) != nil)
        #expect(encoder.prepared(for: try request(delete, "/x")) == nil)
    }

    @Test func aSmallerTableIsAnnouncedAndKeptTo() throws {
        let block = try HeaderBlock([HeaderField("authorization", String(repeating: "x", count: 300))])
        var encoder = HeaderEncoder(authority: "localhost")
        let decoder = try Decoder()
        for limit in [4096, 0, 100, 65_536, 400, 0, 4096] {
            // Both the peer's SETTINGS and the acknowledgement: a decoder rejects blocks that exceed them.
            try decoder.limitTable(to: limit)
            encoder.limitTable(to: limit)
            for _ in 0..<3 {
                var bytes: [UInt8] = []
                encoder.encode(try request(block), into: &bytes)
                #expect(try decoder.fields(in: bytes) == fields(of: request(block)))
            }
        }
    }

    @Test(arguments: 1...20)
    func whateverIsSentIsUnderstood(_ seed: UInt64) throws {
        var state = seed
        func pick(_ count: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(count))
        }
        let names = ["authorization", "apns-topic", "apns-expiration", "apns-collapse-id", "content-type", "x-a"]
        let blocks = try (0..<30).map { _ in
            let fields = try names.filter { _ in pick(3) > 0 }.map { name in
                let length = 1 + pick(pick(4) == 0 ? 1500 : 30)
                return try HeaderField(name, String(repeating: "v", count: length) + "\(pick(5))")
            }
            let varyingName = pick(2) == 0 ? "apns-id" : nil
            return try HeaderBlock(fields, varyingName: varyingName, method: pick(4) == 0 ? .delete : .post)
        }
        var encoder = HeaderEncoder(authority: "localhost")
        let decoder = try Decoder()
        for _ in 0..<600 {
            if pick(40) == 0 {
                let limit = [0, 50, 300, 1000, 4096, 10_000][pick(6)]
                try decoder.limitTable(to: limit)
                encoder.limitTable(to: limit)
            }
            let block = blocks[pick(pick(3) == 0 ? 30 : 3)]
            let varying = block.varyingName == nil ? "" : "id-\(pick(1_000_000))"
            let path = "/" + String(repeating: "p", count: pick(pick(9) == 0 ? 40_000 : 90))
            let request = try request(block, path, varying: varying, body: Array(repeating: 1, count: pick(5000)))
            var bytes: [UInt8] = []
            encoder.encode(request, into: &bytes)
            try #require(try decoder.fields(in: bytes) == fields(of: request))
        }
    }
}

/// nghttp2's HPACK decoder.
private final class Decoder {
    private struct Refused: Error {
        let code: Int
    }

    private let inflater: OpaquePointer

    init() throws {
        var made: OpaquePointer?
        guard nghttp2_hd_inflate_new(&made) == 0, let made else { throw Refused(code: 0) }
        inflater = made
    }

    deinit { nghttp2_hd_inflate_del(inflater) }

    /// As after the acknowledgement of SETTINGS.
    func limitTable(to size: Int) throws {
        let code = nghttp2_hd_inflate_change_table_size(inflater, size)
        guard code == 0 else { throw Refused(code: Int(code)) }
    }

    /// Decodes a complete block.
    func fields(in block: [UInt8]) throws -> [String] {
        var fields: [String] = []
        try block.withUnsafeBufferPointer { block in
            var start = 0
            while true {
                var field = nghttp2_nv()
                var flags: Int32 = 0
                let rest = UnsafeBufferPointer(rebasing: block[start...])
                let count = nghttp2_hd_inflate_hd2(inflater, &field, &flags, rest.baseAddress, rest.count, 1)
                guard count >= 0 else { throw Refused(code: count) }
                start += count
                if UInt32(flags) & NGHTTP2_HD_INFLATE_EMIT.rawValue != 0 {
                    let name = UnsafeBufferPointer(start: field.name, count: field.namelen)
                    let value = UnsafeBufferPointer(start: field.value, count: field.valuelen)
                    fields.append(String(decoding: name, as: UTF8.self) + ": " + String(decoding: value, as: UTF8.self))
                }
                if UInt32(flags) & NGHTTP2_HD_INFLATE_FINAL.rawValue != 0 { break }
                guard count > 0 || UInt32(flags) & NGHTTP2_HD_INFLATE_EMIT.rawValue != 0 else { break }
            }
        }
        nghttp2_hd_inflate_end_headers(inflater)
        return fields
    }
}
