import CNGHTTP2
import PushTransport
import Testing
import Threading

@testable import HTTP2Engine

/// The pauses between reads of answers.
struct SlicingTests {
    private static let millisecond: Int64 = 1_000_000

    /// Returns the pause before the next read, directly after the last one.
    private func pause(answers: Int, inFlight: Int, took: Int64) -> Int64 {
        var slicing = Slicing()
        slicing.note(answers: answers, inFlight: inFlight, took: took, now: 1000)
        return slicing.pause(now: 1000)
    }

    @Test func aLookWaitsAnEighthOfWhatAnswersTakeWithinBounds() {
        #expect(pause(answers: 1, inFlight: 100, took: 8 * Self.millisecond) == Self.millisecond)
        #expect(pause(answers: 1, inFlight: 100, took: Self.millisecond) == Self.millisecond / 2)
        #expect(pause(answers: 1, inFlight: 100, took: 80 * Self.millisecond) == 2 * Self.millisecond)
    }

    @Test func littleInFlightAndMuchAtOnceAreFetchedAtOnce() {
        #expect(pause(answers: 1, inFlight: 15, took: 8 * Self.millisecond) == 0)
        #expect(pause(answers: 25, inFlight: 100, took: 8 * Self.millisecond) == 0)
    }

    @Test func theTimeSinceTheLastLookCounts() {
        var slicing = Slicing()
        slicing.note(answers: 1, inFlight: 100, took: 8 * Self.millisecond, now: 0)
        #expect(slicing.pause(now: 400_000) == 600_000)
        #expect(slicing.pause(now: 2 * Self.millisecond) == 0)
    }

    @Test func whoeverIsWokenSleepsNoLonger() {
        let waker = WakeSignal()
        waker.wake()
        let start = ContinuousClock.now
        for _ in 0..<100 { cnghttp2_doze(waker.descriptor, 999_000_000) }
        #expect(ContinuousClock.now - start < .seconds(50), "it is not the limit that ended the waits")
        #expect(waker.consume())
    }
}
