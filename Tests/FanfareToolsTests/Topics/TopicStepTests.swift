import FanfareCore
import FanfareProviders
import Testing

@testable import FanfareTools

/// Which memberships are requested when, without a network.
struct TopicStepTests {
    private static let second = Micros.second

    private func answer(
        _ step: inout TopicStep,
        _ index: Int,
        _ verdict: FCMTopicVerdict,
        isRequested: Bool = true,
        at now: Microseconds = 0
    ) -> TopicStep.Consequence {
        step.answer(index, verdict, isRequested: isRequested, now: now, random: 0)
    }

    @Test func membershipsAreRequestedInOrderAndRepeatsFirst() {
        var step = TopicStep(count: 5, pace: FCMTopicPace())
        #expect(step.take(3, now: 0) == [0, 1, 2])
        step.giveBack([2], now: 0)
        #expect(answer(&step, 0, .retry(floor: 0)) == .none)
        #expect(answer(&step, 1, .done) == .none)
        #expect(step.take(9, now: 0) == [2, 3, 4], "the failed one waits for half a second")
        #expect(!step.hasDue(now: 0) && step.nextRepeat == 500_000)
        #expect(step.take(9, now: 499_999).isEmpty)
        #expect(step.hasDue(now: 500_000) && step.take(9, now: 500_000) == [0])
        #expect(step.settled == 1 && step.prefix == 0)
        for (index, verdict) in [(0, .done), (2, .gone), (4, .refused("X"))] as [(Int, FCMTopicVerdict)] {
            _ = answer(&step, index, verdict)
        }
        #expect(step.prefix == 3 && !step.isDone && step.refused == 1)
        var tally = TopicTally()
        (tally.done, tally.gone, tally.repeated) = (2, 1, 1)
        #expect(step.tally(ofFirst: step.prefix) == tally)
        #expect(answer(&step, 3, .missing) == .doubt)
        #expect(step.isDone && step.tally().done == 3 && step.tally().refused == ["X": 1])
    }

    @Test func aMembershipThatIsNeverServedIsGivenUp() {
        var step = TopicStep(count: 1, pace: FCMTopicPace())
        var now: Microseconds = 0
        for _ in 1...FCMTopicPace().attempts {
            #expect(step.take(1, now: now) == [0])
            #expect(answer(&step, 0, .retry(floor: 0), at: now) == .none)
            now = step.nextRepeat ?? now
        }
        #expect(step.isDone && step.isUnserved && step.tally().unserved == 1)
        #expect(now < 2 * Micros.minute)
        // The quota's own count: a wait for the quota is no failure of the membership.
        step = TopicStep(count: 2, pace: FCMTopicPace())
        for _ in 1...FCMTopicPace().attempts {
            now = step.nextRepeat ?? now
            _ = step.take(1, now: now)
            #expect(answer(&step, 0, .throttled(floor: 3 * Self.second), at: now) == .hold(3 * Self.second))
        }
        #expect(step.settled == 1 && !step.isUnserved)
    }

    @Test func onlyWhatFCMMayHaveProcessedIsARepeat() {
        var step = TopicStep(count: 1, pace: FCMTopicPace())
        _ = answer(&step, 0, .retry(floor: 0), isRequested: false)
        _ = answer(&step, 0, .done)
        #expect(step.tally().repeated == 0)
    }

    /// Otherwise an answer that a new token does not change would renew tokens without end.
    @Test func aNewTokenIsTriedOnce() {
        var step = TopicStep(count: 1, pace: FCMTopicPace())
        #expect(step.take(1, now: 0) == [0])
        #expect(answer(&step, 0, .renewCredential) == .renew)
        #expect(step.take(1, now: 0) == [0])
        #expect(answer(&step, 0, .renewCredential) == .none)
        #expect(step.tally().refused == ["UNAUTHENTICATED": 1])
    }

    @Test func whatStopsTheJobLeavesTheMembershipOpen() {
        var step = TopicStep(count: 1, pace: FCMTopicPace())
        _ = step.take(1, now: 0)
        #expect(answer(&step, 0, .stop(.permission, words: "w")) == .stop(.permission, words: "w"))
        #expect(!step.isDone && step.prefix == 0)
    }

    // MARK: Counts

    @Test func countsAreReadBackAndBounded() throws {
        var tally = TopicTally()
        (tally.done, tally.gone, tally.unserved, tally.repeated) = (1, 2, 3, 4)
        for number in 0..<50 { tally.refuse("CODE\(number)") }
        #expect(tally.refused.count == 31 && tally.refused["other codes"] == 20 && tally.devices == 56)
        #expect(TopicTally(tally.json) == tally)
        #expect(TopicTally([:]) == TopicTally() && TopicTally(.null) == TopicTally())
        let hostile = try JSONValue(
            parsing: #"{"done": -1, "gone": 1e30, "refused": {"X": 9223372036854775807}, "unserved": "7"}"#
        )
        var read = TopicTally(hostile)
        #expect(read.done == 0 && read.gone == 0 && read.unserved == 0 && read.refused["X"] == 1 << 53)
        read += read
        #expect(read.refused["X"] == 1 << 54)
    }

    // MARK: The change

    @Test func onlyTopicNamesThatFitAPathAreTaken() throws {
        let filter = FCMDeviceFilter(app: "shop")
        for name in ["", "no topic", "/topics/news", "..", ".", String(repeating: "n", count: 901)] {
            let error = #expect(throws: ToolError.self) { try TopicChange(.unsubscribe, topic: name, of: filter) }
            #expect(error?.kind == .usage)
        }
        _ = try TopicChange(.subscribe, topic: "a%~.-_Z9", of: filter)
    }

    @Test func progressBelongsToASelectionAndAProject() throws {
        var filter = FCMDeviceFilter(app: "shop")
        func fingerprint(_ place: String = "p") throws -> [UInt8] {
            try TopicChange(.subscribe, topic: "news", of: filter).fingerprint(place)
        }
        let all = try fingerprint()
        #expect(try fingerprint() == all && fingerprint("q") != all)
        filter.users = ["b", "a", "b"]
        let some = try fingerprint()
        filter.users = ["a", "b"]
        #expect(try fingerprint() == some && some != all)
        filter.topic = "news"
        #expect(try fingerprint() != some)
    }

    // MARK: Words

    @Test func progressTellsRateAndRest() {
        let start = ContinuousClock.now
        let voice = TopicVoice(isTerminal: false, every: .seconds(10), now: start)
        #expect(voice.text(.continued(devices: 1000), now: start) == "fanfare: continued after 1000 devices\n")
        #expect(voice.text(.counted(left: 99_000), now: start) == nil)
        #expect(voice.text(.progress(devices: 2000, refused: 0), now: start + .seconds(1)) == nil)
        let line = voice.text(.progress(devices: 21_000, refused: 3), now: start + .seconds(10))
        #expect(line == "fanfare: 21000 memberships, 21 %, 2000 a second, 3 refused, about 40 s left\n")
        #expect(voice.text(.held(seconds: 60)) == "fanfare: FCM's quota is exhausted: waits for 60 s\n")
        #expect(voice.end() == nil)
    }

    @Test func aTerminalsLineIsReplaced() {
        let start = ContinuousClock.now
        let voice = TopicVoice(isTerminal: true, now: start)
        _ = voice.text(.counted(left: 10_000_000), now: start)
        let line = voice.text(.progress(devices: 2500, refused: 0), now: start + .seconds(1))
        #expect(line == "\r\u{1B}[K2500 memberships, 0 %, 2500 a second, 0 refused, about 67 min left")
        #expect(voice.text(.progress(devices: 2501, refused: 0), now: start + .seconds(1.1)) == nil)
        #expect(voice.text(.held(seconds: 1))?.hasPrefix("\r\u{1B}[Kfanfare: ") == true)
        _ = voice.text(.progress(devices: 20_000_000, refused: 0), now: start + .seconds(2))
        #expect(voice.end() == "\r\u{1B}[K" && voice.end() == nil)
    }
}
