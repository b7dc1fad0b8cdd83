internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import Foundation
internal import HTTP2Client
internal import PushCrypto
internal import PushTransport
internal import Threading

/// A request body with its id.
struct FeedbackParcel: Sendable {
    /// The webhook id, the same for every attempt.
    let id: String
    let body: [UInt8]
}

/// The result of a request.
enum FeedbackAnswer: Equatable, Sendable {
    case taken
    /// Status 410: the receiver wants no more feedback.
    case ended
    /// A failure: a text that is safe to log, and the receiver's `Retry-After` in microseconds.
    case refused(String, retryAfter: Microseconds?)
}

/// Posts to one receiver, one request at a time, on its own thread, so that a slow receiver does not delay other hooks.
final class FeedbackSender: Sendable {
    /// The timeout of a request.
    static let deadline = Duration.seconds(15)
    /// How long an idle connection is kept open.
    private static let idle = Duration.seconds(10)

    /// The receiver; compared with the configuration to see whether the sender has to be replaced.
    let receiver: FeedbackHook.Receiver
    private let parcels = Mailbox<FeedbackParcel>()
    private let answers = Mailbox<FeedbackAnswer>()
    private let stopping = StopSignal()
    private let thread: WorkerThread

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - receiver: the receiver of the requests.
    ///   - name: the hook's name, for the thread.
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

    /// Posts a parcel; the previous one must have been answered.
    func send(_ parcel: FeedbackParcel) { parcels.put(parcel) }

    /// Returns the answer to the current parcel once; nil while there is none.
    func takeAnswer() -> FeedbackAnswer? { answers.take(timeout: .zero)?.first }

    /// Stops the thread soon, without an answer to a request in flight, which the receiver may still have accepted.
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
            // Drops a connection that the peer has closed in the meantime.
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
        // The time of this attempt, because receivers reject old signatures.
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
            // The body is not logged, because it may contain anything.
            let wait = RetryAfter.wait(answer.header("retry-after"), now: Clocks.wall)
            return .refused("it answered \(answer.status)", retryAfter: wait)
        }
    }
}
