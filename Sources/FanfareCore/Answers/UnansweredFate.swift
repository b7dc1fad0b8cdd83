/// Why a request has no answer.
public enum UnansweredFate: CaseIterable, Sendable {
    /// It never reached the socket.
    case notSent
    /// The provider reported that it did not process it: GOAWAY below its stream, REFUSED_STREAM (RFC 9113 section
    /// 8.7).
    case notProcessed
    /// Written to the socket, then lost, reset or timed out: it may have been delivered.
    case ambiguous
    /// Its endpoint is, or resolves to, a forbidden address: nothing was or will be sent.
    case forbidden
}

extension Verdict {
    /// Judges a request without an answer.
    ///
    /// - Parameters:
    ///   - fate: the transport's report.
    ///   - atMostOnce: whether the rule has `delivery: at_most_once`; then an ambiguous request is never repeated.
    public init(fate: UnansweredFate, atMostOnce: Bool) {
        switch fate {
        case .notSent:
            self.init(.retryingNotSent, .retry(Retry(pace: .repeatedly, isFree: true)))
        case .notProcessed:
            self.init(.retryingNotProcessed, .retry(Retry(pace: .repeatedly, isFree: true)))
        case .ambiguous where atMostOnce:
            self.init(.unknown, .final)
        case .forbidden:
            self.init(.destinationForbidden, .final)
        case .ambiguous:
            self.init(.retryingAnswerLost, .retry(Retry(pace: .onceAtOnce)))
        }
    }
}
