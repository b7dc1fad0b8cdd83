public import FanfareCore

/// The debug data of a GOAWAY frame with which APNs closes a connection: the JSON of an error body, or empty.
///
/// APNs has been observed to reject a certificate in this way only, without any response.
public struct APNsGoodbye: Equatable, Sendable {
    /// The reason, if Apple documents it.
    public let reason: APNsReason?

    /// Parses the debug data of a GOAWAY frame.
    ///
    /// - Parameter bytes: the debug data, complete or truncated.
    public init(parsing bytes: some Collection<UInt8>) {
        reason = APNsErrorBody(parsing: bytes).reason.flatMap(APNsReason.init(text:))
    }

    /// Judges a request that the connection did not process.
    ///
    /// - Parameter context: the circumstances of the attempt.
    /// - Returns: the verdict of a response with this reason; nil unless the reason is about the configuration, because
    ///   other reasons for closing a connection say nothing about its requests.
    public func verdict(in context: AttemptContext) -> Verdict? {
        guard let reason, case .badConfiguration = reason.meaning else { return nil }
        let error = APNsErrorBody(reason: reason.rawValue)
        return APNsAnswer(status: reason.status, error: error).verdict(in: context)
    }
}
