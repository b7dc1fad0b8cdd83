import FanfareCore
import PostgresClient
import Testing

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The statements of recording, with random outcomes and evidence.
extension History {
    func checkpoint() throws {
        lastName = "checkpoint"
        let (owner, model, theirs) = records()
        let evidence = try evidence(model, theirs)
        let mine = rows.apply(Checkpoint(owner: owner, batches: model, evidence: evidence.0))
        let other = try real.connection.run(Checkpoint(owner: owner, batches: theirs, evidence: evidence.1))
        #expect(mine.batches.count == other.batches.count)
        #expect(mine.pruned.count == other.pruned.count)
    }

    func close() throws {
        lastName = "close"
        let (owner, model, theirs) = records()
        let evidence = try evidence(model, theirs)
        var retries: (model: [RetryBatch], real: [RetryBatch]) = ([], [])
        for (mine, their) in zip(model, theirs) {
            guard let batch = rows.batches[mine.id] else { continue }
            let again = mine.outcomes.indices.filter { OutcomeRange(code: mine.outcomes[$0]) == .retrying }
            guard !again.isEmpty else { continue }
            let delay = chance.happens(0.5) ? Self.hour : 0
            let target = Int16(chance.number(1...2))
            let history = RetryHistory(attempts: 1, marks: chance.happens(0.5) ? .resent : [])
            func retry(_ parent: Int64, _ eventIDs: [Int64]?) -> RetryBatch {
                RetryBatch(
                    parentID: parent,
                    target: target,
                    history: history,
                    delayMicroseconds: delay,
                    deviceIDs: again.map { batch.deviceIDs[$0] },
                    eventIDs: eventIDs
                )
            }
            let events = batch.eventIDs.map { ids in again.map { ids[$0] } }
            let realEvents = events.map { $0.map { real.events[self.events.firstIndex(of: $0) ?? 0] } }
            retries.model.append(retry(mine.id, events))
            retries.real.append(retry(their.id, realEvents))
        }
        let mine = rows.apply(
            CloseBatches(owner: owner, batches: model, retries: retries.model, evidence: evidence.0, tallies: [])
        )
        let other = try real.connection.run(
            CloseBatches(owner: owner, batches: theirs, retries: retries.real, evidence: evidence.1, tallies: [])
        )
        #expect(mine.batches.count == other.batches.count)
        #expect(mine.pruned.count == other.pruned.count)
    }

    func release() throws {
        lastName = "release"
        let (owner, model, theirs) = records()
        let delay = chance.happens(0.3) ? Self.hour : 0
        let keeps = chance.happens(0.5)
        func released(_ records: [BatchRecord]) -> [BatchRecord] {
            records.map { BatchRecord(id: $0.id, leaseToken: $0.leaseToken, outcomes: keeps ? [] : $0.outcomes) }
        }
        let evidence = try evidence(model, theirs)
        let mine = rows.apply(
            ReleaseBatches(owner: owner, batches: released(model), delay: delay, evidence: evidence.0)
        )
        let other = try real.connection.run(
            ReleaseBatches(owner: owner, batches: released(theirs), delay: delay, evidence: evidence.1)
        )
        #expect(mine.batches.count == other.batches.count)
        #expect(mine.pruned.count == other.pruned.count)
    }

    func releaseClaims() throws {
        lastName = "release claims"
        guard token > 0 else { return }
        let claim = DoubtfulClaim(
            owner: Int32(chance.number(1...3)),
            leaseToken: Int64(chance.number(1...Int(token)))
        )
        let statement = ReleaseClaims(claims: [claim])
        #expect(try rows.apply(statement) == real.connection.runReturningCount(statement))
    }

    // MARK: Random parts

    /// Returns some batches with outcomes, under owners and tokens that are mostly right.
    private func records() -> (owner: Int32, model: [BatchRecord], real: [BatchRecord]) {
        let owner = Int32(chance.number(1...3))
        var records: (model: [BatchRecord], real: [BatchRecord]) = ([], [])
        for name in ids.keys.sorted() where chance.happens(0.6) {
            guard let (model, real) = ids[name], let batch = rows.batches[model] else { continue }
            let token = chance.happens(0.1) ? 0 : batch.leaseToken ?? 0
            let codes: [UInt8] = [0, 1, 3, 35, 44, 64, 66, 100]
            let outcomes = batch.deviceIDs.map { _ in codes[chance.number(0...codes.count - 1)] }
            records.model.append(BatchRecord(id: model, leaseToken: token, outcomes: outcomes))
            records.real.append(BatchRecord(id: real, leaseToken: token, outcomes: outcomes))
        }
        return (owner, records.model, records.real)
    }

    /// Returns evidence about each unregistered device, some of it older than the registration.
    private func evidence(_ model: [BatchRecord], _ theirs: [BatchRecord]) throws -> (TokenEvidence, TokenEvidence) {
        var evidence = (model: TokenEvidence(), real: TokenEvidence())
        var seen: Set<Int64> = []
        for (mine, their) in zip(model, theirs) {
            guard let batch = rows.batches[mine.id] else { continue }
            for (position, code) in mine.outcomes.enumerated() {
                let id = batch.deviceIDs[position]
                guard let device = rows.devices[id], seen.insert(id).inserted else { continue }
                if OutcomeRange(code: code) == .gone {
                    let age: Microseconds = chance.happens(0.3) ? 1 : 0
                    let token = chance.happens(0.1) ? "other" : device.token
                    let at = (device.registeredAt - age, try real.registeredAt(id) - age)
                    evidence.model.prunes.append(prune(mine.id, id, token, at.0))
                    evidence.real.prunes.append(prune(their.id, id, token, at.1))
                } else if code == 1 && chance.happens(0.2) {
                    let from: Int16 = chance.happens(0.8) ? device.target : 3 - device.target
                    evidence.model.corrections.append(move(mine.id, id, device.token, from))
                    evidence.real.corrections.append(move(their.id, id, device.token, from))
                }
            }
        }
        return evidence
    }

    private func prune(_ batch: Int64, _ device: Int64, _ token: String, _ at: Microseconds) -> Prune {
        let before = Timestamp(microseconds: at)
        return Prune(batchID: batch, deviceID: device, token: token, registeredBefore: before, reason: "gone")
    }

    private func move(_ batch: Int64, _ device: Int64, _ token: String, _ from: Int16) -> EnvironmentCorrection {
        EnvironmentCorrection(batchID: batch, deviceID: device, token: token, from: from, to: 3 - from)
    }
}
