package import FanfareCore
internal import FanfareProviders
package import FanfareStages
internal import FanfareStore
internal import PostgresClient

extension PreparedBatch {
    /// Counts the latencies of accepted pushes, from the emit or from the recipients' scheduled time.
    ///
    /// Pushes that were held without a known end are left out: by quiet hours, by a snooze, or behind a gate.
    ///
    /// - Parameters:
    ///   - results: results of this batch.
    ///   - now: when the results arrived, in database time.
    ///   - times: receives the counts.
    package func time(_ results: [DeliveryResult], at now: Microseconds, in times: inout AcceptanceTimes) {
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

    /// Returns the prepared delivery at a position; deliveries are sorted by position.
    private func delivery(at position: Int32) -> PreparedDelivery? {
        // In most batches all deliveries are sent, so the index equals the position.
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
