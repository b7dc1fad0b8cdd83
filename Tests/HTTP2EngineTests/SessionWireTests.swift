import PushTransport
import Testing

@testable import HTTP2Engine

/// The bytes of a session, and misbehaving peers.
struct SessionWireTests {
    @Test func theFirstFrameForbidsPushes() throws {
        let settings = try #require(try SessionPeer().write().first)
        #expect(settings.kind == .settings && settings.payload.starts(with: [0, 2, 0, 0, 0, 0]))
    }

    @Test func bodiesFollowTheWindow() throws {
        let peer = try SessionPeer()
        peer.receive(.settings([(4, 0)]))
        let body = (0..<50).map { UInt8($0) }
        var frames = try peer.send(body: body)
        #expect(frames.contains { $0.kind == .headers } && !frames.contains { $0.kind == .data })
        frames = []
        for increment: UInt32 in [1, 7, 30, 100] {
            peer.receive(.window(increment, on: 1))
            frames += peer.write()
        }
        #expect(frames.map(\.kind) == [.data, .data, .data, .data])
        #expect(frames.map(\.payload.count) == [1, 7, 30, 12])
        #expect(frames.flatMap(\.payload) == body)
        #expect(frames.map(\.flags) == [0, 0, 0, Frame.endStream])
        peer.receive(.answer(200, on: 1))
        #expect(peer.fates() == [0: .answered])
    }

    /// Fields that repeat take a byte or two from the second time on; paths and ids are never inserted into HPACK's
    /// table.
    @Test func fieldsThatStayTheSameAreSentOnce() throws {
        let peer = try SessionPeer()
        let sizes = try peer.send(20).filter { $0.kind == .headers }.map(\.payload.count)
        #expect(sizes.count == 20)
        #expect(sizes[1] < sizes[0] / 2)
        #expect(sizes[10...].allSatisfy { $0 <= sizes[1] + 2 })
    }

    @Test func fieldsThatDoNotFitIntoOneFrameGoOnInOthers() throws {
        let peer = try SessionPeer(tokenLength: 40_000)
        for stream: UInt32 in [1, 3] {
            let frames = try peer.send(body: []).filter { $0.stream == stream }
            #expect(frames.map(\.kind) == [.headers, .continuation, .continuation])
            #expect(frames.map(\.flags) == [Frame.endStream, 0, Frame.endHeaders])
            #expect(frames[..<2].allSatisfy { $0.payload.count == 16_384 })
            peer.receive(.answer(200, on: stream))
        }
        #expect(peer.fates() == [0: .answered, 1: .answered])
    }

    @Test func aPeerWithoutATableGetsAllFieldsEachTime() throws {
        let peer = try SessionPeer()
        peer.receive(.settings([(1, 0)]))
        let blocks = try peer.send(3).filter { $0.kind == .headers }.map(\.payload)
        // The first block announces that the table is empty (RFC 7541 section 6.3).
        #expect(blocks[0].first == 0x20 && blocks[0].count == blocks[1].count + 1)
        #expect(blocks[1].count == blocks[2].count && blocks[1].count > 200)
    }

    @Test func aTableThatWasGoneForAMomentIsEmpty() throws {
        let peer = try SessionPeer()
        let before = try peer.send(2).filter { $0.kind == .headers }.map(\.payload.count)
        peer.receive(.settings([(1, 0)]), .settings([(1, 4096)]))
        let blocks = try peer.send(2).filter { $0.kind == .headers }.map(\.payload)
        #expect(blocks[0].starts(with: [0x20, 0x3F, 0xE1, 0x1F]) && blocks[0].count == before[0] + 4)
        #expect(blocks[1].count == before[1])
    }

    @Test func anEmptyBodyEndsWithItsFields() throws {
        let frames = try SessionPeer().send(body: []).filter { $0.stream == 1 }
        #expect(frames.map(\.kind) == [.headers] && frames[0].flags & Frame.endStream != 0)
    }

    @Test func interimAnswersAreNoAnswers() throws {
        let peer = try SessionPeer()
        try peer.send()
        peer.receive(.answer(103, on: 1, ends: false), .answer(100, on: 1, ends: false))
        #expect(peer.answers().isEmpty)
        peer.receive(.answer(200, on: 1))
        #expect(peer.answers()[0]?.status == 200)
    }

    @Test func theLimitIsTold() throws {
        let peer = try SessionPeer(streams: 7)
        #expect(peer.session.takeLimit() == 7)
        #expect(peer.session.takeLimit() == nil)
        peer.receive(.limit(0))
        #expect(peer.session.takeLimit() == 0)
        peer.receive(.settings([(4, 100)]))
        #expect(peer.session.takeLimit() == 0, "the last one stays")
    }

    @Test func wantedFieldsAndABoundedBodyAreKept() throws {
        let peer = try SessionPeer(answerLimit: 10)
        try peer.send()
        let fields = [0x8E] + Frame.field("retry-after", "17") + Frame.field("x-other", "y")
        peer.receive(
            Frame(kind: .headers, flags: Frame.endHeaders, stream: 1, payload: fields),
            .data(Array(repeating: 65, count: 8), on: 1),
            .data(Array(repeating: 66, count: 8), on: 1, ends: true)
        )
        let answer = try #require(peer.answers()[0])
        #expect(answer.headers == [try HeaderField("retry-after", "17")])
        #expect(answer.body == Array(repeating: 65, count: 8) + [66, 66])
    }

    @Test func nothingOfSuccessIsKept() throws {
        let peer = try SessionPeer()
        try peer.send()
        let fields = [0x88] + Frame.field("apns-id", "x")
        peer.receive(
            Frame(kind: .headers, flags: Frame.endHeaders, stream: 1, payload: fields),
            .data([1, 2, 3], on: 1, ends: true)
        )
        let answer = try #require(peer.answers()[0])
        #expect(answer.status == 200 && answer.headers.isEmpty && answer.body.isEmpty)
    }

    @Test(arguments: [200, 500])
    func aFloodOfBodyIsCutOff(_ status: Int) throws {
        let peer = try SessionPeer()
        try peer.send()
        peer.receive(.answer(status, on: 1, ends: false))
        var sent = 0
        while peer.session.table.count > 0, sent < 200_000 {
            peer.receive(.data(Array(repeating: 65, count: 16_000), on: 1))
            sent += 16_000
            peer.write()
            if let answer = peer.answers()[0] {
                #expect(Int(answer.status) == status && answer.body.count == (status == 200 ? 0 : 100))
            }
        }
        #expect(sent == 80_000 && peer.session.failure == nil)
    }

    @Test func aFloodOfFieldsIsCutOff() throws {
        let peer = try SessionPeer()
        try peer.send()
        let fields = [0x08, 3] + Array("103".utf8) + Frame.field("x-flood", String(repeating: "x", count: 10_000))
        for _ in 0..<6 {
            peer.receive(Frame(kind: .headers, flags: Frame.endHeaders, stream: 1, payload: fields))
        }
        #expect(peer.session.table.count == 1)
        peer.receive(Frame(kind: .headers, flags: Frame.endHeaders, stream: 1, payload: fields))
        #expect(peer.write().contains { $0.kind == .reset && $0.stream == 1 })
        #expect(peer.fates() == [0: .ambiguous])
    }

    /// The socket accepts nothing, so acknowledgements accumulate.
    @Test(arguments: [Frame.ping, Frame.settings()])
    func whoDoesNotReadMayNotAsk(_ question: Frame) throws {
        let peer = try SessionPeer()
        peer.write()
        peer.reads = false
        for _ in 0..<200 where !peer.session.isOver { peer.receive(question) }
        #expect(peer.session.isOver)
    }

    @Test func whoOnlyAsksAndNeverAnswersIsGivenUp() throws {
        let peer = try SessionPeer()
        try peer.send()
        var asked = 0
        while !peer.session.isOver, asked < 1_000_000 {
            peer.receive(Array(repeating: Frame.ping.bytes, count: 100).flatMap { $0 })
            peer.write()
            asked += 100
        }
        #expect(peer.session.failure == "the server says much and answers nothing")
        #expect(asked < 50_000)
    }

    @Test func pushesAreAnError() throws {
        let peer = try SessionPeer()
        try peer.send()
        peer.receive(Frame(kind: .settings, flags: Frame.acknowledgement))
        peer.receive(Frame(kind: .pushPromise, flags: Frame.endHeaders, stream: 1, payload: [0, 0, 0, 2, 0x82]))
        let frames = peer.write()
        #expect(frames.contains { $0.kind == .goaway })
        #expect(peer.session.isOver)
    }

    /// A peer may send a promise before it has read the setting that forbids it.
    @Test func earlyPushesAreRefused() throws {
        let peer = try SessionPeer()
        try peer.send()
        peer.receive(Frame(kind: .pushPromise, flags: Frame.endHeaders, stream: 1, payload: [0, 0, 0, 2, 0x82]))
        #expect(peer.write().contains { $0.kind == .reset && $0.stream == 2 })
        peer.receive(.answer(200, on: 1))
        #expect(peer.fates() == [0: .answered])
    }

    @Test(arguments: [
        [0x48, 0x54, 0x54, 0x50, 0x2F, 0x31, 0x2E, 0x31, 0x20, 0x34, 0x30, 0x30, 0x20],
        Frame(kind: .data, stream: 9, payload: [1]).bytes, Frame(kind: .ping, payload: [1]).bytes,
        Frame(kind: .headers, flags: Frame.endHeaders, stream: 2, payload: [0x88]).bytes,
        Frame(kind: .windowUpdate, payload: [0, 0, 0, 0]).bytes,
    ])
    func whatIsNoHTTP2EndsTheSession(_ bytes: [UInt8]) throws {
        let peer = try SessionPeer()
        try peer.send()
        peer.receive(bytes)
        peer.write()
        #expect(peer.session.isOver)
    }

    @Test func aPingIsSent() throws {
        let peer = try SessionPeer()
        peer.write()
        peer.session.ping()
        #expect(peer.write().map(\.kind) == [.ping])
    }

    @Test func goodbyeIsSaid() throws {
        let peer = try SessionPeer()
        peer.write()
        peer.session.terminate()
        #expect(peer.write().map(\.kind) == [.goaway])
    }
}
