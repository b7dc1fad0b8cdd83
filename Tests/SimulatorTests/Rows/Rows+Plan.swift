import FanfareCore

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The model of the planning statements.
extension Rows {
    /// Runs a round and opens its plans, in one transaction.
    mutating func plan(_ statement: PlanRound) -> PlanRoundSummary {
        let taken = take(statement.floor, limit: statement.limit)
        var fates: [EventFate: Int64] = [:]
        var deliveries: [Delivery] = []
        for event in taken {
            let (fate, live) = judge(event)
            events[event.id] = Event(waiting: event, fate: fate, plannedAt: now)
            fates[fate, default: 0] += 1
            gather(event)
            for rule in live {
                if rule.isForEveryone { openPlan(event.id, rule) } else { deliveries += self.deliveries(event, rule) }
            }
        }
        let queued = queue(deliveries, batchSize: statement.batchSize)
        var parts: [PlanRoundPart] = [
            .totals(taken: Int64(taken.count), batches: Int32(queued), snapshot: snapshot)
        ]
        if let last = taken.max(by: { ($0.xid, $0.id) < ($1.xid, $1.id) }) {
            parts.append(.last(OutboxPlace(xid: "\(last.xid)", id: last.id)))
        }
        parts += fates.map { .fate(Int32($0.key.rawValue), events: $0.value) }
        return PlanRoundSummary(parts)
    }

    /// Takes events from the outbox: those that were open at the last pass's snapshot first, then newer ones.
    private mutating func take(_ floor: OutboxFloor, limit: Int) -> [Waiting] {
        let after = (UInt64(floor.afterXID) ?? 0, floor.afterID)
        let open = Set(floor.open.compactMap { UInt64($0) })
        let next = UInt64(floor.next) ?? 0
        let visible = outbox.filter { !self.open.contains($0.xid) && ($0.xid, $0.id) > after }
        let opened = visible.filter { open.contains($0.xid) }.prefix(limit)
        let begun = visible.filter { $0.xid >= next && !open.contains($0.xid) }.prefix(limit - opened.count)
        let taken = Array(opened) + Array(begun)
        let ids = Set(taken.map(\.id))
        outbox.removeAll { ids.contains($0.id) }
        return taken
    }

    private mutating func judge(_ event: Waiting) -> (EventFate, [SimulatedRule]) {
        if let key = event.key {
            let name = "\(event.type)/\(key)"
            if keys[name] != nil { return (.duplicate, []) }
            keys[name] = event.id
        }
        if isCancelled(event.id) { return (.cancelled, []) }
        let matching = SimulatedRule.all.filter { $0.event == event.type }
        let live = matching.filter { event.createdAt + ($0.timeToLive(event.ttl) ?? 24 * Micros.hour) > now }
        if event.type == DigestDefinition.type { return (.planned, []) }
        return (live.isEmpty ? matching.isEmpty ? .unmatched : .expired : .planned, live)
    }

    // MARK: Deliveries

    private struct Delivery {
        let rule: SimulatedRule
        let event: Int64
        let target: Int16
        let device: Int64
        var place = Place()
    }

    /// The gate of deliveries, and the time until which they wait.
    struct Place: Hashable {
        var gate: Int32 = 0
        var dueAt: Microseconds?
        var notBefore: Microseconds?
    }

    private func deliveries(_ event: Waiting, _ rule: SimulatedRule) -> [Delivery] {
        let users = Set(event.users)
        let place = Place(gate: ruleGates[rule.id] ?? 0)
        return devices.values.filter { users.contains($0.user) && $0.disabledReason == nil }
            .map { Delivery(rule: rule, event: event.id, target: $0.target, device: $0.id, place: place) }
    }

    private mutating func queue(_ deliveries: [Delivery], batchSize: Int) -> Int {
        struct Together: Hashable {
            let rule: Int32
            let target: Int16
            let place: Place

            var order: (Int32, Int16, Int32, Microseconds, Microseconds) {
                (rule, target, place.gate, place.notBefore ?? 0, place.dueAt ?? 0)
            }
        }
        var queued = 0
        let places = Dictionary(grouping: deliveries) { Together(rule: $0.rule.id, target: $0.target, place: $0.place) }
        for (place, deliveries) in places.sorted(by: { $0.key.order < $1.key.order }) {
            let batchSize = self.batchSize(batchSize, gate: place.place.gate)
            let sorted = deliveries.sorted { ($0.device, $0.event) < ($1.device, $1.event) }
            for start in stride(from: 0, to: sorted.count, by: batchSize) {
                let chunk = sorted[start..<min(start + batchSize, sorted.count)]
                let events = chunk.map(\.event)
                let isOne = Set(events).count == 1
                let id = newID()
                batches[id] = Batch(
                    id: id,
                    eventID: isOne ? events.first : nil,
                    eventIDs: isOne ? nil : events,
                    notBefore: place.place.notBefore ?? now,
                    ruleVersion: place.rule,
                    target: place.target,
                    lane: chunk.first?.rule.lane.rawValue ?? 0,
                    gate: place.place.gate,
                    dueAt: place.place.dueAt,
                    deviceIDs: chunk.map(\.device)
                )
                queued += 1
            }
        }
        return queued
    }

    // MARK: Slices

    private mutating func openPlan(_ event: Int64, _ rule: SimulatedRule) {
        plans.append(
            Plan(
                eventID: event,
                ruleVersion: rule.id,
                lane: rule.lane.rawValue,
                cursor: 0,
                lastDevice: devices.keys.max() ?? 0,
                advancedAt: now
            )
        )
    }

    /// Runs one slice of the next plan, in one transaction.
    ///
    /// - Returns: false if there is no plan.
    mutating func slice(rows limit: Int, batchSize: Int) -> Bool {
        let turns = plans.indices.sorted { left, right in
            (plans[left].lane, plans[left].advancedAt, left) < (plans[right].lane, plans[right].advancedAt, right)
        }
        guard let turn = turns.first,
            let rule = SimulatedRule.numbered(plans[turn].ruleVersion)
        else { return false }
        let plan = plans[turn]
        var upper = plan.lastDevice
        if !isCancelled(plan.eventID) {
            let scanned = devices.keys.filter { $0 > plan.cursor }.sorted()
            if scanned.count >= limit { upper = min(upper, scanned[limit - 1]) }
            let found = devices.values.filter { device in
                device.id > plan.cursor && device.id <= upper && device.disabledReason == nil
            }
            let deliveries = found.map { device in
                let place = place(of: device, in: plan.eventID, rule)
                return Delivery(rule: rule, event: plan.eventID, target: device.target, device: device.id, place: place)
            }
            _ = queue(deliveries, batchSize: batchSize)
        }
        if upper >= plan.lastDevice {
            plans.remove(at: turn)
        } else {
            plans[turn].cursor = upper
            plans[turn].advancedAt = now
        }
        return true
    }
}
