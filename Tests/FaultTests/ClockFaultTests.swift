import Foundation
import PostgresClient
import TestKit
import Testing
import Threading

/// Tests with wall clocks that are ten minutes off, or are set while a daemon works.
@Suite(.rig, .serialized, .timeLimit(.minutes(Soak.choose(5, soak: 30))))
struct ClockFaultTests {
    private static let tenMinutes = 600
    /// Shorter than the clocks' error: a daemon that used its own clock would expire every event.
    private static let rule = #""ttl": "2m""#

    @Test func nothingGoesByAClockThatIsOff() async throws {
        let rig = try Rig.current
        try await endAll(rig)
        let clocks = try (0..<3).map { _ in try SettableClock(in: rig.sandbox.ready.directory) }
        for (index, secondsAhead) in [Self.tenMinutes, -Self.tenMinutes, 0].enumerated() {
            try clocks[index].set(secondsAhead: secondsAhead)
            try await rig.serve(index + 1, options: .init(environment: clocks[index].environment()))
        }
        for daemon in rig.daemons[0..<2] {
            #expect(try await daemon.says("this machine's clock is", seconds: 30), "a clock that is off is said")
        }
        let (audit, _) = try await rig.under("clocks 10 minutes ahead and behind", rule: Self.rule) { _ in
            let moment = monotonicNanoseconds()
            try await rig.hold(seconds: PlayedFault.seconds)
            return moment
        }
        #expect(audit.duplicates == 0)
        #expect(audit.count("accepted") == audit.expected)

        let (second, _) = try await rig.under("clocks set by 20 minutes at work", rule: Self.rule) { _ in
            let moment = monotonicNanoseconds()
            try clocks[0].set(secondsAhead: -Self.tenMinutes)
            try clocks[1].set(secondsAhead: Self.tenMinutes)
            try await rig.hold(seconds: PlayedFault.seconds)
            return moment
        }
        #expect(second.duplicates == 0)
        #expect(second.count("accepted") == second.expected)
        try await endAll(rig)
    }

    /// An assertion from the future is rejected; the pushes that wait for an access token are sent once the clock is
    /// right.
    @Test func whatAWrongClockSignedIsRefusedAndWaits() async throws {
        let rig = try Rig.current
        try await endAll(rig)
        let clock = try SettableClock(in: rig.sandbox.ready.directory)
        try clock.set(secondsAhead: Self.tenMinutes)
        try await rig.serve(1, options: .init(environment: clock.environment()))
        let daemon = try #require(rig.daemons.first)
        let fault = "clock 10 minutes ahead, FCM"
        let audience = try await rig.audience("ahead-fcm", devices: 20, provider: "fcm")
        let before = monotonicNanoseconds()
        try await rig.emit(1, to: audience)
        let said = try await onThread {
            daemon.log.line(with: "access token could not be fetched", after: before, seconds: 60)
        }
        #expect(said != nil, "the daemon says so")
        #expect(try await rig.ledger(of: audience).isEmpty, "nothing is sent without a token")
        try clock.set(secondsAhead: 0)
        let moment = monotonicNanoseconds()
        try await rig.untilIdle(seconds: 240)
        let audit = try await rig.audit(audience, events: 1)
        let first = try await rig.millisecondsToFirstPush(after: moment, of: audience) { _ in true }
        audit.report(fault, "first push \(first ?? -1) ms after it was put right")
        audit.expectNothingLost(fault)
        #expect(audit.duplicates == 0)
        #expect(audit.count("accepted") == audit.expected)
        try await endAll(rig)
    }

    private func endAll(_ rig: Rig) async throws {
        for daemon in rig.daemons { #expect(await rig.end(daemon, by: SIGTERM) == 0) }
    }
}

extension RigDaemon {
    /// Returns whether the daemon has logged a text, or logs it within the time.
    fileprivate func says(_ text: String, seconds: Double) async throws -> Bool {
        try await onThread { [log] in log.line(with: text, after: 0, seconds: seconds) != nil }
    }
}
