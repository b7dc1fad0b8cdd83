import FanfareCore
import PostgresClient

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The model of the statements that claim at a rate.
extension Rows {
    /// A rate of deliveries per second.
    struct Rate: Equatable {
        let perSecond: Double
        var nextFree: Microseconds

        /// The time for which unused rate is kept.
        static let credit = 200 * Micros.millisecond
    }

    /// Returns the largest number of deliveries in a batch.
    func batchSize(_ limit: Int, gate: Int32) -> Int {
        guard let rate = gates[gate]?.rate.flatMap({ rates[$0] }) else { return limit }
        return min(limit, max(1, Int(rate.perSecond / 10)))
    }

    private func rates(gate: Int32, and others: [Int32]) -> [Int32] {
        Set((gates[gate]?.rate.map { [$0] } ?? []) + others).sorted().filter { rates[$0] != nil }
    }

    mutating func apply(_ statement: ClaimPaced) -> [ClaimPaced.Row] {
        let locked = isOpen(statement.gate) ? rates(gate: statement.gate, and: statement.rates) : []
        let free = locked.compactMap { rates[$0] }.map { rate in
            Rate(perSecond: rate.perSecond, nextFree: max(rate.nextFree, now - Rate.credit))
        }
        guard let slowest = free.map(\.perSecond).min() else { return [] }
        let budget = free.map { Double(now - $0.nextFree) / 1e6 * $0.perSecond }.min() ?? 0
        let portion = slowest / 10
        let found = budget > 0 ? due.of(statement.requests) : []
        let sorted = found.sorted { left, right in
            (left.isRetry ? 0 : 1, left.notBefore, left.id) < (right.isRetry ? 0 : 1, right.notBefore, right.id)
        }
        var picked: [Batch] = []
        var size = 0
        for (place, batch) in sorted.enumerated() {
            let own = batch.deviceIDs.count
            guard Double(size + own) <= budget || place == 0 && budget >= min(Double(own), portion) else { break }
            size += own
            picked.append(batch)
        }
        if !picked.isEmpty {
            for (id, rate) in zip(locked, free) {
                rates[id]?.nextFree = rate.nextFree + Microseconds(Double(size) / rate.perSecond * 1e6)
            }
        }
        guard budget <= 0 || !found.isEmpty else { return [] }
        let left = Double(sorted.dropFirst(picked.count).reduce(0) { $0 + $1.deviceIDs.count })
        let next = Double(size) + min(budget > 0 ? left : portion, portion)
        let wait = free.map { Double($0.nextFree - now) + next / $0.perSecond * 1e6 }.max().map { Microseconds($0) }
        let taken = take(picked.map(\.id), statement.owner, statement.leaseToken)
        return taken.isEmpty
            ? [ClaimPaced.Row(wait: wait, batch: nil)] : taken.map { ClaimPaced.Row(wait: wait, batch: $0) }
    }

    mutating func apply(_ statement: RefundRate) {
        for id in rates(gate: statement.gate, and: statement.rates) {
            guard let rate = rates[id] else { continue }
            rates[id]?.nextFree -= Microseconds(Double(statement.deliveries) / rate.perSecond * 1e6)
        }
    }

    func apply(_ statement: NextPaced) -> [NextPaced.Row] {
        statement.places.compactMap { place in
            let waiting = batches.values.filter { batch in
                batch.owner == nil && batch.gate == place.gate && batch.target == place.target
                    && batch.queue.lane == place.lane
            }
            return waiting.map(\.notBefore).min().map { NextPaced.Row(place: place, wait: $0 - now) }
        }
    }
}
