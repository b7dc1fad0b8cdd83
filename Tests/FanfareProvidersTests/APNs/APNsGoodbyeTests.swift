import FanfareCore
import Testing

@testable import FanfareProviders

private func goodbye(_ words: String, in circumstances: AttemptContext = context()) -> Verdict? {
    APNsGoodbye(parsing: Array(words.utf8)).verdict(in: circumstances)
}

struct APNsGoodbyeTests {
    @Test(arguments: APNsReason.allCases)
    func onlyTheConfigurationIsHeldAgainstTheSender(reason: APNsReason) {
        for marks in RetryHistory.Marks.combinations where !marks.contains(.otherEnvironment) {
            let verdict = goodbye(#"{"reason":"\#(reason.rawValue)"}"#, in: context(marks))
            if case .badConfiguration(let scope) = reason.meaning {
                #expect(verdict?.disposition == .pause(scope) && verdict?.outcome == reason.rejection)
            } else {
                #expect(verdict == nil)
            }
            if let verdict { expectConsistent(verdict) }
        }
    }

    /// Only the delivery moved to this environment, by a guess, so its refusal must not stop the sender.
    @Test func aGuessThatIsRefusedEnds() {
        let guess = context(.otherEnvironment)
        let told = goodbye(#"{"reason":"BadCertificateEnvironment"}"#, in: guess)
        #expect(told == Verdict(.apnsBadDeviceToken, .final))
    }

    @Test(arguments: ["", "going away", "{}", #"{"reason":"Surprise"}"#, #"{"reason":"BadCertificateEnv"#])
    func anythingElseSaysNothing(words: String) {
        #expect(goodbye(words) == nil)
    }
}
