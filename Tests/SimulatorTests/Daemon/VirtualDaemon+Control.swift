import FanfareCore
import PostgresClient
import Threading

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The tenure of a control session, as in `Controller`.
struct VirtualTenure {
    let owner: Int32
    var renewedAt: Microseconds
    var checkedAt: Microseconds = 0
    var cancelsSince: String
    var watch = DeathWatch()
}

/// The simulation of `Controller` and its `Tenure`.
extension VirtualDaemon {
    private static let interval = 500 * Micros.millisecond

    func enter() {
        let start = Clocks.steady
        let statement = EnterInstance(
            daemon: "simulated",
            host: "",
            pid: 1,
            version: "",
            leaseMicroseconds: LeaseGuard.length,
            schemaVersion: Schema.versions.upperBound
        )
        run(control) { [control, server] rows in
            let seen = rows.apply(NewCancels(since: nil)).seen
            let owner = rows.apply(statement)
            if let session = control.id { _ = server.tryLock(owner, for: session) }
            return (owner, rows.now, seen, rows.policy?.hours != nil)
        } answered: { answer in
            guard let (owner, databaseNow, seen, isQuiet) = answer else { return self.lose() }
            // Before the lease begins, so that nothing is claimed for a daemon that does not know.
            _ = self.orders.replace(rates: [], quiet: isQuiet ? ["shop"] : [])
            self.owners.insert(owner)
            self.context.lease.begin(owner: owner, startedAt: start, databaseNow: databaseNow)
            self.tenure = VirtualTenure(owner: owner, renewedAt: start, cancelsSince: seen)
            self.renew { self.readCancels { self.after(Self.interval) { self.tick() } } }
        }
    }

    /// Handles the loss of the control connection: the daemon gets a new owner number.
    private func lose() {
        context.lease.lost()
        tenure = nil
        control.close()
        enter()
    }

    private func tick() {
        readCancels {
            guard let tenure = self.tenure else { return }
            if Clocks.steady - tenure.renewedAt >= LeaseGuard.renewalInterval {
                self.renew { self.check() }
            } else {
                self.check()
            }
        }
    }

    private func renew(then next: @escaping () -> Void) {
        guard let owner = tenure?.owner else { return }
        let start = Clocks.steady
        let statement = RenewLease(owner: owner, leaseMicroseconds: LeaseGuard.length, leads: [], report: "{}")
        run(control) { rows in
            rows.apply(statement)
        } answered: { answer in
            guard let answer, let databaseNow = answer else { return self.lose() }
            self.tenure?.renewedAt = start
            self.context.lease.renewed(startedAt: start, databaseNow: databaseNow.microseconds)
            next()
        }
    }

    private func readCancels(then next: @escaping () -> Void) {
        guard let since = tenure?.cancelsSince else { return }
        let start = Clocks.steady
        run(control) { rows in
            (rows.apply(NewCancels(since: since)), rows.apply(LiveGates()), rows.policy?.hours != nil)
        } answered: { orders in
            guard let (answer, gates, isQuiet) = orders else { return self.lose() }
            self.orders.cancels.add(answer.facts)
            _ = self.orders.replace(gates: gates)
            _ = self.orders.replace(rates: [], quiet: isQuiet ? ["shop"] : [])
            self.context.lease.cancelsRead(startedAt: start)
            self.tenure?.cancelsSince = answer.seen
            next()
        }
    }

    /// Looks for dead daemons, once a second.
    private func check() {
        guard let tenure, Clocks.steady - tenure.checkedAt >= Micros.second else {
            return after(Self.interval) { self.tick() }
        }
        let now = Clocks.steady
        self.tenure?.checkedAt = now
        run(control) { rows in
            rows.apply(OtherInstances(owner: tenure.owner))
        } answered: { others in
            guard let others else { return self.lose() }
            self.tenure?.watch.see(others, at: Clocks.steady)
            self.judge(others[...], all: others, at: now)
        }
    }

    private func judge(_ rest: ArraySlice<OtherInstance>, all: [OtherInstance], at now: Microseconds) {
        guard let other = rest.first else {
            for id in tenure?.watch.settle(all, at: now) ?? [] {
                if let session = control.id { server.unlock(id, of: session) }
            }
            return after(Self.interval) { self.tick() }
        }
        let tries = tenure?.watch.shouldTryLock(of: other) ?? false
        run(control) { [control, server] _ in
            tries && control.id.map { server.tryLock(other.id, for: $0) } ?? false
        } answered: { isFree in
            guard let isFree else { return self.lose() }
            if isFree { self.tenure?.watch.tookLock(of: other.id, at: now) }
            guard self.tenure?.watch.isDead(other, at: now) ?? false else {
                return self.judge(rest.dropFirst(), all: all, at: now)
            }
            let isSilent = self.tenure?.watch.isSilent(other.id, at: now) ?? false
            self.run(self.control) { rows in
                _ = rows.apply(Rescue(dead: other.id, unlessRenewed: isSilent ? nil : other.leaseUntil))
            } answered: { (done: Void?) in
                guard done != nil else { return self.lose() }
                self.judge(rest.dropFirst(), all: all, at: now)
            }
        }
    }
}
