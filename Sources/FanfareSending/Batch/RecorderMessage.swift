package import FanfareCore
internal import FanfareProviders
internal import FanfareStages
package import FanfareStore

/// The messages to the recorder.
package enum RecorderMessage: Sendable {
    /// A batch was claimed; some of its deliveries were decided without a request.
    ///
    /// `window` is the number of slots it holds because its deliveries are marked as attempted.
    case opened(PreparedBatch, decided: [DeliveryResult], window: Int = 0)
    /// Results of a batch, the number of budget slots they release, and when they arrived, in database time.
    case results(BatchClaim, [DeliveryResult], slots: Int, at: Microseconds = 0)
    /// The reason why deliveries of an event are refused; their results follow.
    case refused(BatchClaim, eventID: Int64, why: String)
    /// Deliveries of a batch that are not sent under this claim; they may be claimed again after a delay.
    ///
    /// There may be several such messages for a batch, if some of its deliveries were in flight.
    case abandoned(BatchClaim, unsent: [Int32], delay: Microseconds = 0)

    /// Returns the message that gives back all deliveries of a batch.
    package static func givenBack(_ batch: PreparedBatch) -> RecorderMessage {
        .abandoned(batch.claimed.claim, unsent: batch.deliveries.map(\.position))
    }

    /// Whether there is something to write; false for an opened batch without decided deliveries, unless none is to be
    /// sent.
    package var bringsNews: Bool {
        guard case .opened(let batch, let decided, _) = self else { return true }
        return !decided.isEmpty || batch.deliveries.isEmpty
    }
}
