import FanfareCore
import Logging
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareLogging
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The log lines for deliveries that are decided when their batch is prepared.
@Suite(.database)
struct DeliveryLineTests {
    /// Prepares a batch of three devices, two of which are decided: one was disabled after planning, one was deleted.
    private func prepared(_ deliveries: Configuration.Log.Deliveries, _ log: CapturedLog) throws -> (
        world: World, one: BatchPreparer.Prepared
    ) {
        var settings = StageSettings()
        settings.deliveryLogging = deliveries
        let world = try World(settings: settings, logger: log.logger)
        for token in ["aa10", "aa11", "aa12"] { try world.device(token, user: "u") }
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        try world.connection.execute(
            """
            SELECT fanfare.unregister_device('shop', 'apns', 'aa10');
            DELETE FROM fanfare.devices WHERE token = 'aa11';
            """
        )
        return (world, try #require(try world.prepare(try world.claim()).first))
    }

    @Test func whatIsDecidedHasTheKeysOfWhatIsSent() throws {
        let (world, one) = try prepared(.all, CapturedLog())
        let now = world.context.lease.databaseNow
        let lines = one.lines.map { $0.metadata(now: now) }
        try #require(lines.count == 2)
        for (line, device) in zip(lines, one.batch.claimed.deviceIDs) {
            #expect(line[.outcome] == "disabled")
            #expect(line[.reason] == "device_disabled")
            #expect(line[.deviceID] == .string("\(device)"))
        }
        let sent = one.batch.line(about: one.batch.deliveries[0], .accepted).metadata(now: now)
        #expect(sent[.eventType] == "e")
        #expect(sent[.outcome] == "accepted")
        #expect(lines[0].keys.sorted() == sent.keys.sorted())
        #expect(lines[0][.tokenHash] != sent[.tokenHash])
        #expect(lines[1][.tokenHash] == nil, "whose token is gone with it")
    }

    @Test(arguments: [.failures, .none] as [Configuration.Log.Deliveries])
    func itHasNoLineUnlessEveryOutcomeHas(deliveries: Configuration.Log.Deliveries) throws {
        let (_, one) = try prepared(deliveries, CapturedLog())
        #expect(one.decided.count == 2 && one.lines.isEmpty)
    }
}
