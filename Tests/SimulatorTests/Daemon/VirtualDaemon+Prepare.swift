import FanfareCore
import PostgresClient
import Threading

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The simulation of `BatchPreparer`.
extension VirtualDaemon {
    typealias Claimed = (batch: ClaimedBatch, devices: [DeviceRow])

    /// Prepares batches one after the other, with as many statements as their rules need.
    func draft(
        _ rest: ArraySlice<Claimed>,
        _ owner: Int32,
        _ events: [Int64: EventRow],
        _ done: [BatchPreparer.Prepared],
        then next: @escaping ([BatchPreparer.Prepared]) -> Void
    ) {
        guard let (batch, devices) = rest.first else { return next(done) }
        guard let rule = SimulatedRule.numbered(batch.ruleVersion)?.loaded,
            let target = targets.all[batch.target]
        else { return draft(rest.dropFirst(), owner, events, done, then: next) }
        checkSuppression(batch, rule) { fields, suppressions, askedNow in
            var draft = BatchDraft(
                context: self.context,
                cancels: self.orders.cancels,
                reports: ReportOrders.none,
                batch: batch,
                owner: owner,
                rule: rule,
                target: target,
                otherTarget: self.targets.otherEnvironment(of: target),
                app: [.apns: ProviderIdentity(topic: "com.example.shop")],
                events: events,
                newest: [:],
                fields: fields,
                badges: [:],
                suppressions: suppressions
            )
            let caps = rule.compiled.definition.suppressions.caps
            let deliveries = caps.isEmpty ? [] : draft.countable(devices[...])
            let rounds = CapRounds(deliveries, target: batch.target, caps: caps, isRetry: batch.wasTried)
            self.suppressions?.checkCounted(deliveries, of: batch, at: askedNow)
            self.take(rounds) { full in
                draft.leaveOut(full, as: .capped)
                let prepared = draft.finish(devices[...])
                self.suppressions?.checkDecisions(prepared, at: askedNow)
                self.draft(rest.dropFirst(), owner, events, done + [prepared], then: next)
            }
        }
    }

    /// Queries the suppressions, if the rule has any.
    private func checkSuppression(
        _ batch: ClaimedBatch,
        _ rule: LoadedRule,
        then next: @escaping ([Int64: DeviceContext], Suppressions, Microseconds) -> Void
    ) {
        let suppressions = rule.compiled.definition.suppressions
        let now = context.lease.databaseNow
        let asks = suppressions.asks(in: batch.queue.lane, isAppQuiet: orders.current.quiet.contains("shop"))
        guard asks || !suppressions.caps.isEmpty else { return next([:], .none, now) }
        self.suppressions?.checkClock(now)
        let query = Suppressions.query(at: batch, by: suppressions, now: now)
        run(claiming) { rows in
            (rows.fields(of: batch.deviceIDs), asks ? rows.apply(query) : [])
        } answered: { found in
            guard let (fields, rows) = found else { return self.claim() }
            next(fields, Suppressions(rows, askedAt: nil), now)
        }
    }

    /// The simulation of `CapTaker`.
    private func take(_ rounds: CapRounds, then next: @escaping ([Int]) -> Void) {
        var rounds = rounds
        guard let take = rounds.next() else { return next(rounds.full) }
        run(claiming) { [weak suppressions] rows in
            let granted = rows.apply(take)
            suppressions?.noteGrants(take, granted)
            return granted
        } answered: { granted in
            guard let granted else { return self.claim() }
            rounds.answered(granted)
            self.take(rounds, then: next)
        }
    }
}
