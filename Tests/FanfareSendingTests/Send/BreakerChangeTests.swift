import FanfareCore
import Logging
import PushTransport
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// One log line for each change of a breaker, although all threads of the pool see it.
@Suite struct BreakerChangeTests {
    private let target = Target(id: 1, app: "shop", provider: "fcm", environment: "production")

    private func lines(_ body: (Breakers) throws -> Void) rethrows -> [String] {
        let log = CapturedLog()
        let breakers = Breakers()
        try body(breakers)
        for _ in 0..<2 {
            for change in breakers.takeChanges() { change.tell(to: log.logger, about: target) }
        }
        return log.end()
    }

    @Test func openingAndClosingAreToldOnceWithTheReason() {
        let lines = lines { breakers in
            for n in 0..<3 {
                breakers.update(.provider, because: BreakerReason(.retryingUnavailable)) {
                    $0.record(.failed, count: 15, at: Int64(n))
                }
            }
            let push = BatchPosition(batch: 1, position: 0)
            for n in 1...3 {
                let now = Int64(n) * Micros.minute
                #expect(breakers.admit(.provider, for: push, at: now) == .probe)
                breakers.update(.provider) { $0.probeEnded(.accepted, at: now) }
            }
        }
        #expect(
            lines == [
                "WARNING  a provider fails; only probes are sent app=shop "
                    + "detail=\"30 of 30 answers in 10 s were failures\" environment=production provider=fcm reason=unavailable",
                "NOTICE   a provider works again app=shop environment=production provider=fcm",
            ]
        )
    }

    @Test func connectsThatFailSayWithWhat() {
        let lines = lines { breakers in
            for _ in 0..<8 {
                breakers.update(.provider, because: BreakerReason(.retryingNotSent, in: "connection refused")) {
                    $0.connectFailed()
                }
            }
        }
        #expect(lines.count == 1)
        #expect(lines.first?.contains("5 connects in a row failed") == true)
        #expect(lines.first?.contains("connection refused") == true)
    }

    @Test func whatIsRefusedOrAskedToWaitNamesWhatItIs() throws {
        let disallowed = try #require(APNsReason.topicDisallowed.rejection)
        let origin = try Endpoint("https://push.example.com")
        let lines = lines { breakers in
            for n in 0..<40 {
                let refusal = BreakerReason(disallowed, in: "TopicDisallowed")
                breakers.refused(.topic("com.example.wrong"), at: Int64(n), because: refusal)
                let quota = BreakerReason(.retryingSenderThrottled)
                breakers.hold(.origin(origin), for: Micros.minute, at: Int64(n), because: quota)
            }
        }
        #expect(lines.count == 2)
        #expect(lines[0].contains("a provider refuses this sender") && lines[0].contains("topic=com.example.wrong"))
        #expect(lines[0].contains("reason=TopicDisallowed"))
        #expect(lines[1].contains("asks this sender to wait") && lines[1].contains("duration_ms=60000"))
        #expect(lines[1].contains("push.example.com") && lines[1].contains("reason=sender_throttled"))
    }
}
