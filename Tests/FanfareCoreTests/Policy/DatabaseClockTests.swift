import FanfareCore
import Testing

private let second = Micros.second

struct DatabaseClockTests {
    @Test func goesAsOursUntilItIsKnown() {
        #expect(DatabaseClock(wall: 1000, steady: 5).now(steady: 7) == 1002)
    }

    @Test func isRatherEarlyThanLate() {
        var clock = DatabaseClock(wall: 0, steady: 0)
        clock.read(500 * second, asked: 100 * second, answered: 102 * second)
        #expect(clock.now(steady: 100 * second) == 500 * second)
    }

    @Test func anAnswerThatALongStopDelayedIsNotBelievedBeyondWhatItProves() {
        var clock = DatabaseClock(wall: 0, steady: 0)
        clock.read(500 * second, asked: 100 * second, answered: 100 * second + 1000)
        // The server answered at once; the process was suspended for 10 s and then read the answer.
        clock.read(505 * second, asked: 105 * second, answered: 115 * second)
        #expect(clock.now(steady: 115 * second) == 515 * second)
    }

    @Test func followsAClockThatWasSet() {
        var clock = DatabaseClock(wall: 0, steady: 0)
        clock.read(500 * second, asked: 100 * second, answered: 100 * second + 1000)
        clock.read(805 * second, asked: 105 * second, answered: 105 * second + 1000)
        #expect(clock.now(steady: 106 * second) == 806 * second - 1000)
        clock.read(210 * second, asked: 110 * second, answered: 110 * second + 1000)
        #expect(clock.now(steady: 111 * second) == 211 * second)
    }

    @Test func aSecondOrMoreIsAStep() {
        var clock = DatabaseClock(wall: 0, steady: 0)
        clock.read(500 * second, asked: 100 * second, answered: 100 * second)
        clock.read(505 * second + 900_000, asked: 105 * second, answered: 105 * second)
        #expect(clock.lastStep == nil)
        clock.read(210 * second, asked: 110 * second, answered: 110 * second)
        #expect(clock.lastStep?.distance == -300 * second - 900_000)
        #expect(clock.lastStep?.noticedAt == 110 * second)
        clock.read(215 * second, asked: 115 * second, answered: 115 * second)
        #expect(clock.lastStep?.noticedAt == 110 * second)
        clock.read(.min, asked: 116 * second, answered: 116 * second)
        #expect(clock.now(steady: 116 * second) < 0)
    }
}
