import PushTransport
import Testing

@testable import HTTP2Engine

/// A session and its peer without a network: the session's output is parsed as frames, and its input is frames.
final class SessionPeer {
    let session: Session
    /// The time that is passed to the session.
    var now: MonotonicTime = 1_000_000_000
    var isTooLate = false
    /// Whether the socket accepts bytes.
    var reads = true
    /// The bytes that the socket was offered last.
    private(set) var lastShown: [UInt8] = []
    private let block: HeaderBlock
    private var unparsed: [UInt8] = []
    private var hasPreface = false
    private var tag: UInt64 = 0

    /// - Parameters:
    /// streams: the number of streams that the peer allows.
    /// answerLimit: the number of bytes of an answer's body that are kept.
    /// tokenLength: the length of the shared field that each request has.
    init(streams: UInt32 = 100, answerLimit: Int = 100, tokenLength: Int = 200) throws {
        var options = TransportOptions()
        options.streams = 100
        options.answerLimit = answerLimit
        session = try Session.open("localhost", options)
        let token = "bearer " + String(repeating: "a", count: tokenLength)
        block = try HeaderBlock([HeaderField("authorization", token)], varyingName: "apns-id")
        receive(.limit(streams))
    }

    /// Passes requests with consecutive numbers to the session, and lets it write.
    ///
    /// - Returns: the frames that it wrote.
    @discardableResult
    func send(_ count: Int = 1, body: [UInt8] = [1, 2, 3], deadline: Duration = .seconds(15)) throws -> [Frame] {
        for _ in 0..<count {
            let request = try PushRequest(
                tag: tag,
                path: Array("/3/device/\(tag)".utf8),
                head: block,
                varyingValue: Array("id-\(tag)".utf8),
                body: PushBody(body),
                deadline: deadline
            )
            session.table.put(request, submittedAt: now)
            tag += 1
        }
        return write()
    }

    /// Lets the session write.
    @discardableResult
    func write() -> [Frame] {
        repeat {
            session.fill(now: now, isTooLate: isTooLate)
            session.withOutgoing { bytes in
                lastShown = Array(bytes)
                guard reads else { return 0 }
                unparsed += bytes
                return bytes.count
            }
        } while reads && session.hasOutgoing
        if !hasPreface && unparsed.count >= 24 {
            unparsed.removeFirst(24)
            hasPreface = true
        }
        return hasPreface ? Frame.parse(&unparsed) : []
    }

    func receive(_ frames: Frame...) { receive(frames.flatMap(\.bytes)) }

    func receive(_ bytes: [UInt8]) { bytes.withUnsafeBytes { session.receive($0) } }

    /// Returns the answers of the ended requests, by number.
    func answers() -> [UInt64: PushAnswer] {
        var answers: [UInt64: PushAnswer] = [:]
        while let slot = session.nextFinished() {
            let answer = session.answer(slot)
            answers[answer.tag] = answer
        }
        return answers
    }

    func fates() -> [UInt64: Fate] { answers().mapValues(\.fate) }
}
