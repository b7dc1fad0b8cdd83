import Logging
import PushTransport
import Testing
import Threading
import UnixSignals

@testable import FanfareService

@Suite struct DrainGuardTests {
    /// Watches some signals until they end, and counts how often the process would have been ended.
    private func abandons(_ sent: [UnixSignal], limit: Duration, endsAfterAbandon: Bool) async -> (Int, [UnixSignal]) {
        let (signals, send) = AsyncStream.makeStream(of: UnixSignal.self)
        let (forwarded, forward) = AsyncStream.makeStream(of: UnixSignal.self)
        let count = Locked(0)
        let guardian = DrainGuard(limit: limit, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }) {
            count.withLock { $0 += 1 }
            if endsAfterAbandon { send.finish() }
        }
        for signal in sent { send.yield(signal) }
        if !endsAfterAbandon { send.finish() }
        await guardian.watch(signals, forwardingTo: forward)
        var heard: [UnixSignal] = []
        for await signal in forwarded { heard.append(signal) }
        return (count.withLock { $0 }, heard)
    }

    @Test func drainingEndsAtItsLimit() async {
        let (abandons, heard) = await abandons([.sigterm], limit: .milliseconds(1), endsAfterAbandon: true)
        #expect(abandons == 1)
        #expect(heard == [.sigterm])
    }

    @Test(arguments: [[UnixSignal.sigint], [.sigterm, .sigterm], [.sighup, .sigterm, .sigint]])
    func whoInsistsIsObeyedAtOnce(signals: [UnixSignal]) async {
        let (abandons, heard) = await abandons(signals, limit: .seconds(3600), endsAfterAbandon: true)
        #expect(abandons == 1)
        #expect(heard == signals)
    }

    @Test func aDrainThatEndsInTimeIsLeftAlone() async {
        let (abandons, _) = await abandons([.sighup, .sigterm], limit: .seconds(3600), endsAfterAbandon: false)
        #expect(abandons == 0)
    }
}

@Suite struct APNSProbeTests {
    private func judge(_ status: UInt16, _ reason: String) throws -> CheckItem {
        let probe = APNSProbe(
            app: "shop",
            environmentName: "production",
            endpoint: .apnsProduction,
            credentials: Configuration.APNS(),
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
        let probe = APNSProbe(
            app: "shop",
            environmentName: "sandbox",
            endpoint: .apnsSandbox,
            credentials: Configuration.APNS(),
            transports: ProviderTransports(Configuration.Send())
        )
        let item = probe.judge(PushAnswer(tag: 1, without: .notSent, cause: .tls, detail: "certificate expired"))
        #expect(item.level == .fail && item.detail == "no answer: certificate expired")
    }
}
