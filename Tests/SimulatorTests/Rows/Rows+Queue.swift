import FanfareCore
import PostgresClient

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The model of the statements of claiming and recording.
extension Rows {
    mutating func apply(_ statement: ClaimBatches) -> [ClaimedBatch] {
        let due = due
        return take(due.of(statement.requests).map(\.id), statement.owner, statement.leaseToken)
    }

    /// The due batches without an owner, in the order of claims.
    var due: [Batch] {
        let now = now
        return batches.values.filter { $0.owner == nil && $0.notBefore <= now }
            .sorted { ($0.notBefore, $0.id) < ($1.notBefore, $1.id) }
    }

    /// Assigns batches to an owner.
    mutating func take(_ picked: [Int64], _ owner: Int32, _ leaseToken: Int64) -> [ClaimedBatch] {
        picked.compactMap { id in
            batches[id]?.owner = owner
            batches[id]?.leaseToken = leaseToken
            return batches[id]?.claimed
        }
    }

    mutating func apply(_ statement: Checkpoint) -> [Recorded] {
        var saved: Set<Int64> = []
        for record in statement.batches where isOwned(record, by: statement.owner) {
            noteWrite(record, by: statement.owner)
            batches[record.id]?.outcomes = record.outcomes
            saved.insert(record.id)
        }
        return saved.sorted().map { .written(batch: $0) } + follow(statement.evidence, of: saved)
    }

    /// Runs a checkpoint that marks batches as attempted.
    mutating func mark(_ statement: Checkpoint) -> [Recorded] {
        let saved = apply(statement)
        for id in saved.batches { batches[id]?.marker = statement.owner }
        return saved
    }

    /// Returns the number of deliveries that would be unknown if a daemon died now.
    func attempted(by owner: Int32) -> Int {
        batches.values.reduce(0) { sum, batch in
            sum + (batch.marker == owner ? batch.outcomes.count { $0 == Outcome.attempted.rawValue } : 0)
        }
    }

    mutating func apply(_ statement: CloseBatches) -> [Recorded] {
        var closing: [Int64: Batch] = [:]
        for record in statement.batches where isOwned(record, by: statement.owner) {
            noteWrite(record, by: statement.owner)
            guard var batch = batches.removeValue(forKey: record.id) else { continue }
            batch.outcomes = record.outcomes
            closing[record.id] = batch
            log[record.id] = batch
        }
        for retry in statement.retries {
            guard let parent = closing[retry.parentID] else { continue }
            let id = newID()
            batches[id] = Batch(
                id: id,
                parentID: parent.id,
                eventID: parent.eventID,
                eventIDs: retry.eventIDs,
                notBefore: now + retry.delayMicroseconds,
                ruleVersion: parent.ruleVersion,
                target: retry.target,
                lane: parent.lane,
                attempt: parent.attempt + 1,
                history: retry.history.encoded,
                isRetry: retry.isRetry,
                gate: parent.gate,
                dueAt: parent.dueAt,
                waitsUntil: now + retry.delayMicroseconds,
                deviceIDs: retry.deviceIDs
            )
        }
        return closing.keys.sorted().map { .written(batch: $0) } + follow(statement.evidence, of: Set(closing.keys))
    }

    @discardableResult
    mutating func apply(_ statement: ReleaseBatches) -> [Recorded] {
        var released: Set<Int64> = []
        for record in statement.batches where isOwned(record, by: statement.owner) {
            noteWrite(record, by: statement.owner)
            released.insert(record.id)
            batches[record.id]?.owner = nil
            batches[record.id]?.leaseToken = nil
            batches[record.id]?.notBefore = now + statement.delay
            if !record.outcomes.isEmpty { batches[record.id]?.outcomes = record.outcomes }
        }
        return released.sorted().map { .written(batch: $0) } + follow(statement.evidence, of: released)
    }

    @discardableResult
    mutating func apply(_ statement: ReleaseClaims) -> Int {
        let taken = batches.values.filter { batch in
            statement.claims.contains { $0.owner == batch.owner && $0.leaseToken == batch.leaseToken }
        }
        for batch in taken {
            batches[batch.id]?.owner = nil
            batches[batch.id]?.leaseToken = nil
            batches[batch.id]?.notBefore = now
        }
        return taken.count
    }

    /// Returns whether the fence allows a write: the writer must own the batch under the token of its claim.
    private func isOwned(_ record: BatchRecord, by owner: Int32) -> Bool {
        guard let batch = batches[record.id] else { return false }
        return batch.owner == owner && batch.leaseToken == record.leaseToken
    }

    private mutating func noteWrite(_ record: BatchRecord, by owner: Int32) {
        guard let batch = batches[record.id], batch.owner != owner || batch.leaseToken != record.leaseToken else {
            return
        }
        unfenced.append(record.id)
    }

    private mutating func follow(_ evidence: TokenEvidence, of mine: Set<Int64>) -> [Recorded] {
        var disabled: [Int64] = []
        for prune in evidence.prunes where mine.contains(prune.batchID) {
            guard let device = devices[prune.deviceID], device.token == prune.token, device.disabledReason == nil,
                device.registeredAt <= prune.registeredBefore.microseconds
            else { continue }
            devices[prune.deviceID]?.disabledReason = prune.reason
            disabled.append(prune.deviceID)
        }
        for move in evidence.corrections where mine.contains(move.batchID) {
            guard let device = devices[move.deviceID], device.token == move.token, device.target == move.from else {
                continue
            }
            devices[move.deviceID]?.target = move.to
        }
        pruned += disabled
        return disabled.map { .pruned(device: $0) }
    }

    // MARK: Reading

    /// Returns the due time of a target's next batch; nil if there is none.
    func nextDue(_ target: Int16) -> Microseconds? {
        batches.values.filter { $0.owner == nil && $0.target == target }.map(\.notBefore).min()
    }

    func fetch(_ devices: [Int64]) -> [DeviceRow] {
        devices.map { id in
            let device = self.devices[id]
            return DeviceRow(
                token: device?.token,
                target: device?.target ?? 0,
                kind: device == nil ? "" : "device",
                isEnabled: device.map { $0.disabledReason == nil } ?? false,
                registeredAt: Timestamp(microseconds: device?.registeredAt ?? 0),
                locale: nil,
                p256dh: nil,
                auth: nil,
                userID: device?.user
            )
        }
    }

    func fetch(events ids: Set<Int64>) -> [Int64: EventRow] {
        var rows: [Int64: EventRow] = [:]
        for id in ids {
            guard let event = events[id] else { continue }
            rows[id] = EventRow(
                id: id,
                type: event.waiting.type,
                key: event.waiting.key,
                createdAt: Timestamp(microseconds: event.waiting.createdAt),
                plannedAt: Timestamp(microseconds: event.plannedAt),
                ttlSeconds: event.waiting.ttl.map { Double($0) / Double(Micros.second) },
                payload: "{}",
                isCancelled: isCancelled(id)
            )
        }
        return rows
    }
}

extension [Rows.Batch] {
    /// Returns the batches that each claim finds among those that are due.
    func of(_ requests: [BatchRequest]) -> [Rows.Batch] {
        guard !isEmpty else { return [] }
        return requests.flatMap { request in
            lazy.filter { batch in
                batch.gate == request.gate && batch.target == request.target && batch.queue == request.queue
                    && batch.notBefore >= request.floor.microseconds
            }.prefix(Int(request.count))
        }
    }
}

extension Rows.Batch {
    /// The row as a claim returns it.
    var claimed: ClaimedBatch {
        ClaimedBatch(
            id: id,
            leaseToken: leaseToken ?? 0,
            target: target,
            queue: queue,
            gate: gate,
            ruleVersion: ruleVersion,
            attempt: attempt,
            history: RetryHistory(encoded: history),
            eventID: eventID,
            eventIDs: eventIDs ?? [],
            deviceIDs: deviceIDs,
            outcomes: outcomes,
            notBefore: Timestamp(microseconds: notBefore),
            dueAt: dueAt.map { Timestamp(microseconds: $0) },
            claimedAt: .minusInfinity
        )
    }

    /// The queue of the batch.
    var queue: SendQueue {
        SendQueue(lane: Lane(rawValue: lane) ?? .normal, isRetry: isRetry)
    }
}
