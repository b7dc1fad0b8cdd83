import PushTransport
import Testing

@testable import HTTP2Engine

/// The results of requests, frame by frame.
struct SessionFateTests {
    /// Three requests are in flight on streams 1, 3 and 5.
    @Test(
        arguments: [(0, [0, 1, 2]), (1, [1, 2]), (3, [2]), (5, []), (7, []), (0x7FFF_FFFF, [])]
            as [(UInt32, [UInt64])]
    )
    func goawayTellsWhatWasNotProcessed(_ last: UInt32, _ unprocessed: [UInt64]) throws {
        let peer = try SessionPeer()
        try peer.send(3)
        peer.receive(.goaway(last: last, 2))
        let answers = peer.answers()
        #expect(answers.keys.sorted() == unprocessed)
        for answer in answers.values {
            #expect(answer.fate == .notProcessed && answer.cause == .lost)
            #expect(answer.detail == "the server did not process it (GOAWAY, INTERNAL_ERROR)")
        }
        #expect(peer.session.goaway == "INTERNAL_ERROR")
        // The others are still answered.
        for tag in 0..<UInt64(3) where !unprocessed.contains(tag) {
            peer.receive(.answer(200, on: UInt32(tag) * 2 + 1))
            #expect(peer.fates() == [tag: .answered])
        }
        peer.write()
        #expect(peer.session.isOver)
    }

    @Test func whatGoawaySaysIsToldAsFarAsItMayStandInALog() throws {
        let peer = try SessionPeer()
        try peer.send(1)
        peer.receive(
            .goaway(last: 0, saying: #"{"reason":"Shutdown"}"# + "\n\u{1B}[2J" + String(repeating: "x", count: 300))
        )
        let told = try #require(peer.session.goaway)
        #expect(told.hasPrefix(#"NO_ERROR: {"reason":"Shutdown"}[2Jxx"#) && told.utf8.count <= 210)
        #expect(peer.answers()[0]?.detail == "the server did not process it (GOAWAY, \(told))")
    }

    @Test func whatGoawaySaysComesWithWhatItTakesBack() throws {
        let peer = try SessionPeer()
        try peer.send(2)
        let words = #"{"reason":"BadCertificateEnvironment"}"#
        peer.receive(.goaway(last: 1, saying: words))
        #expect(peer.answers().mapValues(\.body) == [1: Array(words.utf8)])
        peer.receive(.reset(1, 2))
        #expect(peer.answers().mapValues(\.body) == [0: []], "it is not why this one has no answer")
    }

    @Test func ofALongGoawayAPartIsKept() throws {
        let peer = try SessionPeer()
        try peer.send()
        peer.receive(.goaway(last: 0, saying: String(repeating: "x", count: 5000)))
        #expect(peer.answers()[0]?.body == Array(repeating: UInt8(ascii: "x"), count: 1024))
    }

    @Test func aRefusedStreamComesWithoutWords() throws {
        let peer = try SessionPeer()
        try peer.send()
        peer.receive(.reset(1, 7))
        #expect(peer.answers()[0]?.body == [])
    }

    @Test func aSecondGoawayMayTakeMoreBack() throws {
        let peer = try SessionPeer()
        try peer.send(3)
        peer.receive(.goaway(last: 0x7FFF_FFFF))
        #expect(peer.answers().isEmpty)
        peer.receive(.goaway(last: 1))
        #expect(peer.fates() == [1: .notProcessed, 2: .notProcessed])
    }

    @Test func aRefusedStreamWasNotProcessed() throws {
        let peer = try SessionPeer()
        try peer.send(2)
        peer.receive(.reset(3, 7))
        let answer = try #require(peer.answers()[1])
        #expect(answer.fate == .notProcessed && answer.detail.contains("REFUSED_STREAM"))
        peer.receive(.answer(200, on: 1))
        #expect(peer.fates() == [0: .answered])
    }

    @Test(
        arguments: [(0, "NO_ERROR"), (2, "INTERNAL_ERROR"), (8, "CANCEL"), (11, "ENHANCE_YOUR_CALM")]
            as [(UInt32, String)]
    )
    func anyOtherResetIsAmbiguous(_ code: UInt32, _ name: String) throws {
        let peer = try SessionPeer()
        try peer.send()
        peer.receive(.reset(1, code))
        let answer = try #require(peer.answers()[0])
        #expect(answer.fate == .ambiguous && answer.cause == .lost && answer.detail.contains(name))
    }

    @Test(arguments: [2, 7, 8] as [UInt32])
    func aStatusCountsWhateverComesAfter(_ code: UInt32) throws {
        let peer = try SessionPeer()
        try peer.send()
        peer.receive(.answer(500, on: 1, ends: false), .data(Array("half".utf8), on: 1), .reset(1, code))
        let answer = try #require(peer.answers()[0])
        #expect(answer.fate == .answered && answer.status == 500)
        #expect(answer.body == Array("half".utf8))
    }

    @Test func aStatusCountsWhenTheConnectionEnds() throws {
        let peer = try SessionPeer()
        try peer.send(2)
        peer.receive(.answer(500, on: 1, ends: false))
        let answers = peer.session.settle(.lost, "gone")
        #expect(answers.map(\.status) == [500, 0] && answers.map(\.fate) == [.answered, .ambiguous])
    }

    /// A status in the first frame, and fields in CONTINUATION frames that never end (RFC 9113 section 6.10).
    @Test(arguments: [200, 500])
    func aStatusCountsOnlyWithAllOfItsFields(_ status: Int) throws {
        let peer = try SessionPeer()
        try peer.send(2)
        var frame = Frame.answer(status, on: 1, ends: false)
        frame.flags = 0
        let fields = Frame.field("retry-after", "17")
        peer.receive(frame, Frame(kind: .continuation, stream: 1, payload: fields))
        #expect(peer.answers().isEmpty)
        let answers = peer.session.settle(.lost, "gone")
        #expect(answers.map(\.status) == [0, 0] && answers.map(\.fate) == [.ambiguous, .ambiguous])
        #expect(answers.allSatisfy { $0.headers.isEmpty && $0.detail == "gone" })
    }

    @Test func anOverdueAnswerThatIsHalfThereIsNone() throws {
        let peer = try SessionPeer()
        try peer.send()
        var frame = Frame.answer(200, on: 1, ends: false)
        frame.flags = 0
        peer.receive(frame)
        peer.now += 60_000_000_000
        let overdue = peer.session.overdue(now: peer.now)
        let answer = peer.session.giveUp(peer.session.table.slots + (try #require(overdue.first)))
        #expect(answer.status == 0 && answer.fate == .ambiguous && answer.cause == .deadline)
    }

    @Test func fieldsInSeveralFramesAreOneAnswer() throws {
        let peer = try SessionPeer()
        try peer.send()
        var frame = Frame.answer(500, on: 1)
        frame.flags = Frame.endStream
        peer.receive(
            frame,
            Frame(kind: .continuation, stream: 1, payload: Frame.field("x-other", "y")),
            Frame(
                kind: .continuation,
                flags: Frame.endHeaders,
                stream: 1,
                payload: Frame.field("retry-after", "17")
            )
        )
        let answer = try #require(peer.answers()[0])
        #expect(answer.status == 500)
        #expect(answer.headers == [try HeaderField("retry-after", "17")])
    }

    /// They would fill memory; their content is not needed.
    @Test func fieldsThatNeverEndAreCutOff() throws {
        let peer = try SessionPeer()
        try peer.send()
        var frame = Frame.answer(200, on: 1, ends: false)
        frame.flags = 0
        peer.receive(frame)
        let fields = Frame.field("x-flood", String(repeating: "x", count: 10_000))
        for _ in 0..<100 where peer.session.failure == nil {
            peer.receive(Frame(kind: .continuation, stream: 1, payload: fields))
        }
        let answers = peer.answers().values + peer.session.settle(.lost, "gone")
        #expect(answers.map(\.status) == [0] && answers.map(\.fate) == [.ambiguous])
    }

    @Test func whatTheSocketNeverTookWasNotSent() throws {
        let peer = try SessionPeer()
        peer.write()
        try peer.send()
        peer.reads = false
        try peer.send(2)
        #expect(peer.session.holdsUnsentRequest)
        let answers = peer.session.settle(.lost, "gone").sorted { $0.tag < $1.tag }
        #expect(answers.map(\.fate) == [.ambiguous, .notSent, .notSent])
        #expect(answers.allSatisfy { $0.cause == .lost && $0.detail == "gone" })
        #expect(peer.session.table.count == 0)
    }

    /// TLS has made a record of the bytes that it was offered.
    @Test func whatTheSocketDidNotTakeIsShownAgainAsItWas() throws {
        let peer = try SessionPeer()
        peer.write()
        peer.reads = false
        try peer.send()
        let first = peer.lastShown
        try peer.send(2)
        #expect(peer.lastShown == first && !first.isEmpty)
        peer.reads = true
        #expect(peer.write().count { $0.kind == .headers } == 3)
    }

    @Test func requestsThatDoNotFitWaitOutsideNghttp2() throws {
        let peer = try SessionPeer()
        peer.write()
        peer.reads = false
        try peer.send(5, body: Array(repeating: 1, count: 10_000))
        #expect(peer.session.table.waitingCount == 3, "two fill what one write takes")
        let taken = peer.session.table.takeBack()
        #expect(taken?.request.tag == 4, "the newest goes back first")
    }

    @Test func nothingBeginsAfterTheLease() throws {
        let peer = try SessionPeer()
        peer.write()
        peer.isTooLate = true
        let frames = try peer.send(3)
        #expect(frames.isEmpty)
        let answers = peer.answers()
        #expect(answers.count == 3)
        #expect(answers.values.allSatisfy { $0.fate == .notSent && $0.cause == .sendUntil })
        peer.isTooLate = false
        #expect(try peer.send().contains { $0.kind == .headers })
    }

    @Test func aBodyThatWaitsForTheWindowIsNotSentAfterTheLease() throws {
        let peer = try SessionPeer()
        peer.receive(.settings([(4, 0)]))
        try peer.send()
        peer.isTooLate = true
        peer.receive(.window(100, on: 1))
        let frames = peer.write()
        #expect(frames.map(\.kind) == [.reset])
        let answer = try #require(peer.answers()[0])
        #expect(answer.fate == .ambiguous && answer.cause == .sendUntil)
    }

    @Test func whatIsOverdueIsCancelled() throws {
        let peer = try SessionPeer()
        try peer.send(1, deadline: .seconds(1))
        try peer.send(1, deadline: .seconds(9))
        #expect(peer.session.nextDeadline == peer.now + 1_000_000_000)
        peer.now += 2_000_000_000
        let overdue = peer.session.overdue(now: peer.now)
        #expect(overdue.count == 1)
        let answer = peer.session.giveUp(peer.session.table.slots + overdue[0])
        #expect(answer.tag == 0 && answer.fate == .ambiguous && answer.cause == .deadline)
        #expect(peer.session.nextDeadline == peer.now + 7_000_000_000)
        #expect(peer.write() == [.reset(1, 8)])
        // An answer that arrives too late is ignored, even if its slot has another request.
        try peer.send()
        peer.receive(.answer(200, on: 1), .answer(200, on: 3), .answer(500, on: 5))
        #expect(peer.answers().mapValues(\.status) == [1: 200, 2: 500])
    }

    @Test func anAnswerBeforeAllWasSentEndsTheRequest() throws {
        let peer = try SessionPeer()
        peer.receive(.settings([(4, 10)]))
        let frames = try peer.send(body: Array(repeating: 7, count: 100))
        #expect(frames.last?.payload.count == 10)
        peer.receive(.answer(500, on: 1))
        #expect(peer.answers()[0]?.status == 500)
        #expect(peer.write().contains { $0.kind == .reset && $0.stream == 1 })
    }
}
