public import FanfareCore

/// What APNs says as it ends a connection: GOAWAY's debug data, which is the JSON of an error body or empty.
///
/// A certificate that it does not take has been seen to be refused in this way alone, without any answer.
public struct APNsGoodbye: Equatable, Sendable {
    /// Why, if it is a reason that Apple documents.
    public let reason: APNsReason?

    /// Reads GOAWAY's debug data.
    ///
    /// - Parameter bytes: the debug data, complete or cut.
    public init(parsing bytes: some Collection<UInt8>) {
        reason = APNsErrorBody(parsing: bytes).reason.flatMap(APNsReason.init(text:))
    }

    /// Judges a request that the connection left unprocessed.
    ///
    /// - Parameter context: the circumstances of the attempt.
    /// - Returns: what an answer with this reason would mean; nil unless the reason is about the configuration: the connection's
    ///   end says nothing about its requests then.
    public func verdict(in context: AttemptContext) -> Verdict? {
        guard let reason, case .badConfiguration = reason.meaning else { return nil }
        let error = APNsErrorBody(reason: reason.rawValue)
        return APNsAnswer(status: reason.status, error: error).verdict(in: context)
    }
}
