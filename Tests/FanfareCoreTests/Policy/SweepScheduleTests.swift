import FanfareCore
import Testing

private let ms = Micros.millisecond

struct SweepScheduleTests {
    private let quiet = SweepSnapshot(xmin: 100, xmax: 100)

    @Test func whereNoWriterWasOpenOnceASecondIsEnough() {
        var schedule = SweepSchedule()
        #expect(schedule.fellAsleep(quiet, at: 0).sweepAt == Micros.second)
        let next = schedule.looked(quiet, found: 0, wasNotified: false, at: Micros.second)
        #expect(next.sweepAt == 2 * Micros.second && !next.warnsOfLostWakes)
    }

    @Test func pollsFasterWhileWritersAreOpen() {
        var schedule = SweepSchedule()
        let busy = SweepSnapshot(xmin: 90, xmax: 100)
        var waits = [schedule.fellAsleep(busy, at: 0).sweepAt]
        for _ in 0..<6 { waits.append(schedule.looked(busy, found: 0, wasNotified: false, at: 0).sweepAt) }
        #expect(waits == [2, 4, 8, 16, 32, 50, 50].map { $0 * ms })
    }

    @Test func settlesWhenXminReachesTheSweepsXmax() {
        var schedule = SweepSchedule()
        _ = schedule.fellAsleep(SweepSnapshot(xmin: 90, xmax: 100), at: 0)
        let nearly = schedule.looked(SweepSnapshot(xmin: 99, xmax: 150), found: 0, wasNotified: false, at: 0)
        #expect(nearly.sweepAt == 4 * ms)
        let reached = schedule.looked(SweepSnapshot(xmin: 100, xmax: 160), found: 0, wasNotified: false, at: 0)
        #expect(reached.sweepAt == Micros.second && schedule.state == .idle)
    }

    @Test func whatSettlingFindsIsNoReasonToWarn() {
        var schedule = SweepSchedule()
        _ = schedule.fellAsleep(SweepSnapshot(xmin: 90, xmax: 100), at: 0)
        #expect(!schedule.looked(quiet, found: 3, wasNotified: false, at: 0).warnsOfLostWakes)
    }

    @Test func unannouncedEventsPollFasterAndWarnOnce() {
        var schedule = SweepSchedule()
        _ = schedule.fellAsleep(quiet, at: 0)
        let found = schedule.looked(quiet, found: 1, wasNotified: false, at: 0)
        #expect(found.sweepAt == 50 * ms && !found.warnsOfLostWakes, "its notification may still come")
        #expect(schedule.fellAsleep(quiet, at: ms).sweepAt == 51 * ms, "a drain keeps the short interval")
        #expect(!schedule.looked(quiet, found: 0, wasNotified: false, at: Micros.second - 1).warnsOfLostWakes)
        #expect(schedule.looked(quiet, found: 0, wasNotified: false, at: Micros.second).warnsOfLostWakes)
        for second in 2...35 {
            let again = schedule.looked(
                quiet,
                found: second / 30,
                wasNotified: false,
                at: Microseconds(second) * Micros.second
            )
            #expect(!again.warnsOfLostWakes)
        }
        let calm = schedule.looked(quiet, found: 0, wasNotified: false, at: 95 * Micros.second)
        #expect(calm.sweepAt == 96 * Micros.second)
    }

    @Test func aNotificationThatComesAfterItsEventIsNotLost() {
        var schedule = SweepSchedule()
        _ = schedule.fellAsleep(quiet, at: 0)
        _ = schedule.looked(quiet, found: 1, wasNotified: false, at: 0)
        #expect(!schedule.looked(quiet, found: 0, wasNotified: true, at: 900 * ms).warnsOfLostWakes)
        #expect(!schedule.looked(quiet, found: 0, wasNotified: false, at: 2 * Micros.second).warnsOfLostWakes)
    }

    @Test func aNotificationExplainsWhatIsFound() {
        var schedule = SweepSchedule()
        _ = schedule.fellAsleep(quiet, at: 0)
        let next = schedule.looked(quiet, found: 5, wasNotified: true, at: 0)
        #expect(next.sweepAt == Micros.second && !next.warnsOfLostWakes)
    }

    @Test(arguments: 0..<20)
    func looksAtLeastOnceASecond(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var schedule = SweepSchedule()
        var now: Microseconds = 0
        var xmax: UInt64 = 100
        for _ in 0..<200 {
            xmax += UInt64.random(in: 0...20, using: &random)
            let snapshot = SweepSnapshot(xmin: xmax - UInt64.random(in: 0...30, using: &random), xmax: xmax)
            let next =
                Bool.random(using: &random)
                ? schedule.fellAsleep(snapshot, at: now)
                : schedule.looked(snapshot, found: 0, wasNotified: false, at: now)
            #expect(next.sweepAt > now && next.sweepAt - now <= Micros.second)
            now = next.sweepAt
        }
        _ = schedule.looked(SweepSnapshot(xmin: xmax, xmax: xmax), found: 0, wasNotified: false, at: now)
        #expect(schedule.state == .idle)
    }
}
