internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import Foundation
internal import HTTP2Client
internal import PushCrypto
internal import PushTransport
internal import Threading

/// What is to be posted.
struct FeedbackParcel: Sendable {
    /// The same as often as it is sent.
    let id: String
    let body: [UInt8]
}

/// What came of it.
enum FeedbackAnswer: Equatable, Sendable {
    case taken
    /// 410: the receiver wants nothing more.
    case ended
    /// Safe to log, and how long the receiver asked to be left alone, in microseconds.
    case refused(String, retryAfter: Microseconds?)
}

/// Posts to one receiver, one request at a time, on a thread of its own: one that does not answer holds up nobody.
final class FeedbackSender: Sendable {
    /// How long an answer may take.
    static let deadline = Duration.seconds(15)
    /// How long a connection is kept for the next request.
    private static let idle = Duration.seconds(10)

    /// Whom it posts to; compared to see whether another one is needed.
    let receiver: FeedbackHook.Receiver
    private let parcels = Mailbox<FeedbackParcel>()
    private let answers = Mailbox<FeedbackAnswer>()
    private let stopping = StopSignal()
    private let thread: WorkerThread

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - receiver: whom it posts to.
    ///   - name: the hook's, for the thread.
    ///   - bell: rung when there is an answer.
    init(to receiver: FeedbackHook.Receiver, name: String, bell: Bell) {
        self.receiver = receiver
        let (parcels, answers, stopping) = (parcels, answers, stopping)
        thread = .start(name: "hook-\(name)") {
            var client: MultiOriginClient?
            while let waiting = parcels.take(timeout: client == nil ? nil : Self.idle) {
                for parcel in waiting where !stopping.isStopped {
                    guard let answer = Self.post(parcel, to: receiver, over: &client, until: stopping) else { continue }
                    answers.put(answer)
                    bell.ring()
                }
                if waiting.isEmpty { Self.close(&client) }
            }
            Self.close(&client)
        }
    }

    /// Posts something; the one before must have been answered.
    func send(_ parcel: FeedbackParcel) { parcels.put(parcel) }

    /// The answer to what was sent, once; nil as long as there is none.
    func takeAnswer() -> FeedbackAnswer? { answers.take(timeout: .zero)?.first }

    /// Ends the thread soon; what is in flight is not answered.
    ///
    /// It may have been taken all the same.
    func stop() {
        stopping.stop()
        parcels.close()
    }

    /// Whether the thread has ended.
    var hasLeft: Bool { thread.isFinished }

    /// Waits for the thread's end.
    func join() { thread.join() }

    private static func close(_ client: inout MultiOriginClient?) {
        var last: [PushAnswer] = []
        client?.close(into: &last)
        client = nil
    }

    private static func post(
        _ parcel: FeedbackParcel,
        to receiver: FeedbackHook.Receiver,
        over client: inout MultiOriginClient?,
        until stopping: StopSignal
    ) -> FeedbackAnswer? {
        do {
            let open = try client ?? MultiOriginClient(options: receiver.options)
            client = open
            var answers: [PushAnswer] = []
            // A connection that the other side closed meanwhile is given up before something is sent over it.
            open.poll(timeout: .zero, into: &answers)
            let request = try request(parcel, to: receiver)
            guard open.submit([request]) == 1 else { return .refused("no connection is free", retryAfter: nil) }
            while answers.isEmpty && !stopping.isStopped { open.poll(timeout: .milliseconds(100), into: &answers) }
            return answers.first.map(answer)
        } catch {
            return .refused("\(error)", retryAfter: nil)
        }
    }

    private static func request(_ parcel: FeedbackParcel, to receiver: FeedbackHook.Receiver) throws -> PushRequest {
        let signature = try WebhookSignature()
        // Of this try: receivers refuse what was signed long ago.
        let timestamp = String(Clocks.wall / Micros.second)
        let signed = try receiver.secrets.map { secret in
            try signature.value(id: Array(parcel.id.utf8), timestamp: timestamp, body: parcel.body, secret: secret)
        }
        return try PushRequest(
            tag: 1,
            path: receiver.url.target,
            head: HeaderBlock([
                HeaderField("content-type", "application/json"), HeaderField("user-agent", "Fanfare"),
                HeaderField("webhook-id", parcel.id), HeaderField("webhook-timestamp", timestamp),
                HeaderField("webhook-signature", signed.joined(separator: " ")),
            ]),
            body: PushBody(parcel.body),
            deadline: deadline,
            origin: receiver.url.origin
        )
    }

    private static func answer(_ answer: PushAnswer) -> FeedbackAnswer {
        guard answer.fate == .answered else {
            guard answer.cause == .forbidden else { return .refused(answer.detail, retryAfter: nil) }
            return .refused("\(answer.detail); is its network one of allowed_networks?", retryAfter: nil)
        }
        switch answer.status {
        case 200...299: return .taken
        case 410: return .ended
        default:
            // What a receiver says of itself may hold anything.
            let wait = RetryAfter.wait(answer.header("retry-after"), now: Clocks.wall)
            return .refused("it answered \(answer.status)", retryAfter: wait)
        }
    }
}
