import Logging
import PushTransport
import Testing
import Threading
import UnixSignals

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareDaemon
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareTools

@Suite struct DrainGuardTests {
    /// Sends signals to a guard; returns those for which it would have ended the process (nil for the time limit), and
    /// those that it forwarded.
    private func abandons(
        _ sent: [UnixSignal],
        limit: Duration,
        endsAfterAbandon: Bool
    ) async -> ([UnixSignal?], [UnixSignal]) {
        let (signals, send) = AsyncStream.makeStream(of: UnixSignal.self)
        let (forwarded, forward) = AsyncStream.makeStream(of: UnixSignal.self)
        let causes = Locked<[UnixSignal?]>([])
        let guardian = DrainGuard(limit: limit, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }) {
            cause in
            causes.withLock { $0.append(cause) }
            if endsAfterAbandon { send.finish() }
        }
        for signal in sent { send.yield(signal) }
        if !endsAfterAbandon { send.finish() }
        await guardian.watch(signals, forwardingTo: forward)
        var heard: [UnixSignal] = []
        for await signal in forwarded { heard.append(signal) }
        return (causes.withLock { $0 }, heard)
    }

    @Test func drainingEndsAtItsLimit() async {
        let (abandons, heard) = await abandons([.sigterm], limit: .milliseconds(1), endsAfterAbandon: true)
        #expect(abandons == [nil])
        #expect(heard == [.sigterm])
    }

    @Test(arguments: [[UnixSignal.sigint], [.sigterm, .sigterm], [.sighup, .sigterm, .sigint]])
    func whoInsistsIsObeyedAtOnce(signals: [UnixSignal]) async {
        let (abandons, heard) = await abandons(signals, limit: .seconds(3600), endsAfterAbandon: true)
        #expect(abandons == [signals.last])
        #expect(heard == signals)
    }

    @Test func aDrainThatEndsInTimeIsLeftAlone() async {
        let (abandons, _) = await abandons([.sighup, .sigterm], limit: .seconds(3600), endsAfterAbandon: false)
        #expect(abandons.isEmpty)
    }
}

@Suite struct DatabasePatienceTests {
    @Test func theLastTryIsAtTheEndOfThePatience() {
        #expect(DaemonRun.pause(left: .seconds(30)) == .seconds(1))
        #expect(DaemonRun.pause(left: .milliseconds(400)) == .milliseconds(400))
        #expect(DaemonRun.pause(left: .zero) == nil)
        #expect(DaemonRun.pause(left: .milliseconds(-1)) == nil)
    }
}

@Suite struct APNsProbeTests {
    private func judge(_ status: UInt16, _ reason: String) throws -> CheckItem {
        let probe = APNsProbe(
            app: "shop",
            environmentName: "production",
            endpoint: .apnsProduction,
            credentials: APNsSettings(),
            transports: ProviderTransports(Configuration.Send())
        )
        return probe.judge(PushAnswer(tag: 1, status: status, body: Array(#"{"reason":"\#(reason)"}"#.utf8)))
    }

    @Test(arguments: [
        (400 as UInt16, "BadDeviceToken", CheckItem.Level.ok), (403, "InvalidProviderToken", .fail),
        (403, "BadEnvironmentKeyIdInToken", .warn), (403, "ExpiredProviderToken", .fail),
        (400, "TopicDisallowed", .fail), (503, "ServiceUnavailable", .warn),
        (429, "TooManyProviderTokenUpdates", .warn),
        (200, "", .fail),
    ])
    func anAnswerTellsWhatToLookAt(status: UInt16, reason: String, level: CheckItem.Level) throws {
        let item = try judge(status, reason)
        #expect(item.level == level)
        #expect(item.name == "APNs production for shop")
        #expect(item.advice.isEmpty == (level == .ok))
    }

    @Test func noAnswerSaysWhy() {
        let probe = APNsProbe(
            app: "shop",
            environmentName: "sandbox",
            endpoint: .apnsSandbox,
            credentials: APNsSettings(),
            transports: ProviderTransports(Configuration.Send())
        )
        let item = probe.judge(PushAnswer(tag: 1, without: .notSent, cause: .tls, detail: "certificate expired"))
        #expect(item.level == .fail && item.detail == "no answer: certificate expired")
    }
}
