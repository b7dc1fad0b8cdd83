internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient

extension PreparedBatch {
    /// Counts how long accepted pushes took since they could be sent: since the emit, or since their recipients' time came.
    ///
    /// What waited on purpose and no time says until when is left out: for a night or a snooze, or behind a gate.
    ///
    /// - Parameters:
    ///   - results: of this batch.
    ///   - now: when they were known, in database time.
    ///   - times: where it is counted.
    func time(_ results: [DeliveryResult], at now: Microseconds, in times: inout AcceptanceTimes) {
        guard claimed.gate == 0, !claimed.history.marks.contains(.held) else { return }
        if claimed.eventID != nil {
            guard let event = variants.first?.event else { return }
            let begin = (claimed.dueAt ?? event.createdAt).microseconds
            let accepted = results.count { $0.outcome == .accepted }
            return times.count(accepted, of: event, since: begin, at: now, to: target, lane)
        }
        for result in results where result.outcome == .accepted {
            guard let delivery = delivery(at: result.position) else { continue }
            let event = variants[Int(delivery.variant)].event
            let begin = (claimed.dueAt ?? event.createdAt).microseconds
            times.count(1, of: event, since: begin, at: now, to: target, lane)
        }
    }

    /// The delivery that is sent for a position; they are in its order.
    private func delivery(at position: Int32) -> PreparedDelivery? {
        // Mostly all of them are sent.
        let place = Int(position)
        if place < deliveries.count, deliveries[place].position == position { return deliveries[place] }
        var (low, high) = (0, min(place, deliveries.count))
        while low < high {
            let middle = (low + high) / 2
            if deliveries[middle].position < position { low = middle + 1 } else { high = middle }
        }
        return low < deliveries.count && deliveries[low].position == position ? deliveries[low] : nil
    }
}
