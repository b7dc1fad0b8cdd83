import PushTransport
import Testing

@testable import HTTP2Engine

/// A session and the other side of it, without a network: what the session writes is read as frames, and frames are what
/// it reads.
final class SessionPeer {
    let session: Session
    /// The time that the session is told.
    var now: MonotonicTime = 1_000_000_000
    var isTooLate = false
    /// Whether the socket takes what is written.
    var reads = true
    /// What the socket was shown last.
    private(set) var lastShown: [UInt8] = []
    private let block: HeaderBlock
    private var unparsed: [UInt8] = []
    private var hasPreface = false
    private var tag: UInt64 = 0

    /// - Parameters:
    ///   - streams: how many the peer allows.
    ///   - answerLimit: how much of an answer's body is kept.
    ///   - tokenLength: how long the shared field is that each request has.
    init(streams: UInt32 = 100, answerLimit: Int = 100, tokenLength: Int = 200) throws {
        var options = TransportOptions()
        options.streams = 100
        options.answerLimit = answerLimit
        session = try Session.open("localhost", options)
        let token = "bearer " + String(repeating: "a", count: tokenLength)
        block = try HeaderBlock([HeaderField("authorization", token)], varyingName: "apns-id")
        receive(.limit(streams))
    }

    /// Hands requests to the session, numbered on, and lets it write.
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

    /// The fates of the requests that ended, by number.
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
