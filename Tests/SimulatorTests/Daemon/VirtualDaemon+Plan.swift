import FanfareCore

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The simulation of `Planner` and `Slicer`; there are no notifications, so the planner only sweeps.
extension VirtualDaemon {
    private static let roundSize = 3
    private static let sliceRows = 7

    func plan() {
        let round = PlanRound(floor: floor, limit: Self.roundSize, batchSize: scenario.batchSize)
        run(planning) { rows in
            rows.plan(round)
        } answered: { summary in
            if let summary {
                self.floor.advance(after: summary, limit: Self.roundSize)
            } else {
                self.floor = OutboxFloor()
            }
            let isBusy = (summary?.taken ?? 0) > 0
            self.after(isBusy ? Micros.millisecond : self.world.chance.time(Micros.millisecond...Micros.second)) {
                self.plan()
            }
        }
    }

    func slice() {
        run(slicing) { [scenario] rows in
            rows.slice(rows: Self.sliceRows, batchSize: scenario.batchSize)
        } answered: { didWork in
            self.after(didWork == true ? Micros.millisecond : Micros.second / 2) { self.slice() }
        }
    }
}
