public import FanfareCore

/// The judgement on FCM's answer to a change of one membership.
public enum FCMTopicVerdict: Equatable, Sendable {
    /// The membership is as wanted, from now on or from before.
    case done
    /// There is no such membership to end, or no such project: the body does not tell which.
    case missing
    /// There is no such registration to subscribe, or no such project: the body does not tell which.
    case unknown
    /// The registration is unknown to FCM; a push would disable the device.
    case gone
    /// FCM refused this membership for good, by its code; loggable.
    case refused(String)
    /// A quota is exhausted: no request may be sent before this time has passed.
    case throttled(floor: Microseconds)
    /// FCM could not serve the request, which can be repeated with backoff after at least this long.
    case retry(floor: Microseconds)
    /// The access token was rejected: to be renewed once.
    case renewCredential
    /// Every other request would fail too.
    case stop(Cause, words: String)

    /// Why every request would fail.
    public enum Cause: Sendable, CaseIterable {
        /// The service account lacks a permission, or the API is not enabled.
        case permission
        /// The project or the API does not exist.
        case notFound
        /// The answer is not from FCM.
        case foreign
    }

    /// The refusal of a registration that has reached FCM's limit of topics.
    public static let tooManyTopics = "TOO_MANY_TOPICS"

    /// Judges an answer, for every status and body.
    ///
    /// - Parameters:
    ///   - operation: the requested change.
    ///   - status: the HTTP status.
    ///   - body: the body's bytes.
    ///   - retryAfter: the value of `Retry-After`.
    ///   - now: the time of the answer (wall clock).
    public init(
        _ operation: FCMTopicOperation,
        status: Int,
        body: some Collection<UInt8> = [],
        retryAfter: String? = nil,
        now: Microseconds
    ) {
        guard !(200...299).contains(status) else {
            self = .done
            return
        }
        let answer = Answer(status, body)
        let floor = RetryAfter.wait(retryAfter, now: now)
        self =
            switch status {
            case 401: .renewCredential
            case 403:
                answer.code == .senderIDMismatch ? .refused(answer.reason) : .stop(.permission, words: answer.words)
            case 404: answer.notFound(operation)
            case 409: answer.conflict(operation, floor: floor)
            case 429: answer.isFull ? .refused(Self.tooManyTopics) : .throttled(floor: floor ?? FCMAnswer.quotaFloor)
            // The request itself is too long: an error of this membership, also from a proxy.
            case 413, 414, 431: .refused(answer.reason)
            case 400...499: answer.clientError(floor: floor)
            case 500...599: .retry(floor: floor ?? 0)
            default: .stop(.foreign, words: answer.words)
            }
    }

    /// An error as FCM words it.
    private struct Answer {
        let status: Int
        let error: FCMErrorBody
        private let message: String

        init(_ status: Int, _ body: some Collection<UInt8>) {
            self.status = status
            error = FCMErrorBody(parsing: body)
            let limits = JSONLimits(bytes: FCMErrorBody.maximumBytes, levels: 32)
            message = (try? JSONValue(parsing: Array(body), limits: limits))?["error"]?["message"]?.stringValue ?? ""
        }

        var code: FCMErrorCode? { error.errorCode.flatMap { FCMErrorCode(text: $0) } }

        /// Whether Google sends this error: it sends `error.status` with each of its own.
        var isGoogles: Bool { error.status != nil }

        var reason: String { error.reason ?? "status \(status)" }

        /// Status, code and message for people.
        var words: String {
            let text = FCMTopicVerdict.withoutRegistration(message).loggable(upTo: 200).map { ": \($0)" }
            return ["\(status)", error.reason].compactMap(\.self).joined(separator: " ") + (text ?? "")
        }

        /// Whether the registration has reached the limit of 2,000 topics; how FCM says so is not documented.
        var isFull: Bool {
            error.reason == FCMTopicVerdict.tooManyTopics || message.mentions("too many topics")
        }

        func notFound(_ operation: FCMTopicOperation) -> FCMTopicVerdict {
            if code == .unregistered { return .gone }
            guard isGoogles else { return .stop(.notFound, words: words) }
            return operation == .subscribe ? .unknown : .missing
        }

        /// Judges a 409, which Google sends for ALREADY_EXISTS and for ABORTED, a conflict with another request.
        func conflict(_ operation: FCMTopicOperation, floor: Microseconds?) -> FCMTopicVerdict {
            switch error.status {
            case "ALREADY_EXISTS" where operation == .subscribe: .done
            case nil, "ABORTED": .retry(floor: floor ?? 0)
            default: .refused(reason)
            }
        }

        /// Judges another 4xx: one without Google's error comes from a proxy and says nothing about the membership.
        func clientError(floor: Microseconds?) -> FCMTopicVerdict {
            if isFull { return .refused(FCMTopicVerdict.tooManyTopics) }
            return isGoogles ? .refused(reason) : .retry(floor: floor ?? 0)
        }
    }

    /// Removes registrations, which are secret, from resource names in Google's messages.
    private static func withoutRegistration(_ message: String) -> String {
        message.replacing(/registrations\/[^\/\s'"]+/, with: "registrations/…")
    }
}

/// The waits of a job that changes memberships.
public struct FCMTopicPace: Equatable, Sendable {
    /// How often a membership is requested that FCM cannot serve, and how often one that meets an exhausted quota.
    public var attempts = 7
    /// The first wait after a failure; each further one is twice as long.
    public var firstWait = Micros.second
    /// The longest wait that the schedule itself makes.
    public var longestWait = Micros.minute
    /// The longest wait that FCM may ask for.
    public var longestHold = Micros.hour

    /// Makes the default waits.
    public init() {}

    /// Returns the wait after a failure: exponential, with jitter over its second half.
    ///
    /// - Parameters:
    ///   - failures: the number of failures of this membership, from 1.
    ///   - floor: the shortest wait.
    ///   - random: a number evenly distributed in 0..<1.
    /// - Returns: the wait.
    public func wait(after failures: Int, floor: Microseconds, random: Double) -> Microseconds {
        let doublings = min(max(failures - 1, 0), 16)
        let half = min(firstWait << Microseconds(doublings), longestWait) / 2
        return max(half + Microseconds(Double(half) * random), min(floor, longestHold))
    }

    /// Returns how long the whole job waits after an exhausted quota: what FCM asks for, and up to a tenth more.
    ///
    /// - Parameters:
    ///   - floor: the shortest wait.
    ///   - random: a number evenly distributed in 0..<1.
    /// - Returns: the wait.
    public func hold(floor: Microseconds, random: Double) -> Microseconds {
        let least = min(max(floor, 0), longestHold)
        return least + Microseconds(Double(least / 10) * random)
    }
}
