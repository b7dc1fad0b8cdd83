import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import FanfareCampaigns
@testable import FanfareProviders
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// What a campaign's author says of its rate.
@Suite(.database)
struct CampaignRateTests {
    private static let less = "at least 1/s; for less use a cap or smaller audiences"
    private static let how = "write how many pushes a second, as in 500/s"
    private static let most = "at most 1000000/s; without a rate it goes as fast as it can"

    @Test(arguments: [
        (#""0/s""#, "0/s is 0/s", less), (#""30/m""#, "30/m is 0.5/s", less), (#""20/m""#, "20/m is 0.3333/s", less),
        (#""1/h""#, "1/h is 0.0003/s", less), (#""90/m""#, "90/m is 1.5/s", how),
        (#""7200/h""#, "7200/h is 2/s", how), (#""1000001/s""#, "1000001/s is 1000001/s", most),
        (#""500""#, "'500' is no rate", how), (#""/s""#, "'/s' is no rate", how),
        (#""007/s""#, "'007/s' is no rate", how), (#""1.5/s""#, "'1.5/s' is no rate", how),
        (#""9999999999/s""#, "'9999999999/s' is no rate", how), (#""5/d""#, "'5/d' is no rate", how),
        (#""-5/s""#, "'-5/s' is no rate", how),
    ])
    func whatCannotBeIsRefusedAlikeByBoth(rate: String, reason: String, hint: String) throws {
        let world = try World()
        let error = #expect(throws: PostgresError.self) { try world.put(campaign: "c", #""rate": \#(rate)"#) }
        #expect(error?.sqlState == "22023")
        #expect(error?.message == "rate: \(reason)")
        #expect(error?.hint == hint)
        let problem = #expect(throws: RuleProblem.self) { try Self.campaign(rate) }
        #expect(problem?.path == "rate")
        #expect(problem?.reason == reason)
        #expect(problem?.hint == hint)
    }

    @Test(arguments: ["500", "null", "{}", "[]"])
    func whatIsNoStringIsRefusedByBoth(rate: String) throws {
        let world = try World()
        let error = #expect(throws: PostgresError.self) { try world.put(campaign: "c", #""rate": \#(rate)"#) }
        #expect(error?.message == "rate: is no string")
        #expect(throws: RuleProblem.self) { try Self.campaign(rate) }
    }

    @Test(arguments: [1, 500, 1_000_000])
    func whatIsWrittenIsReadAndWrittenAgain(perSecond: Int) throws {
        let campaign = try Self.campaign("\"\(perSecond)/s\"")
        #expect(campaign.rate?.perSecond == perSecond)
        #expect(campaign.json["rate"] == .string("\(perSecond)/s"))
        #expect(try CampaignDefinition(json: campaign.json).rate == campaign.rate)
        #expect(campaign.rule.definition.json["rate"] == nil)
    }

    private static func campaign(_ rate: String) throws(RuleProblem) -> CampaignDefinition {
        let text = """
            {"app": "shop", "name": "c", "to": {"everyone": true}, "message": {"data": {"a": "b"}}, "rate": \(rate)}
            """
        return try CampaignDefinition(json: (try? JSONValue(parsing: text)) ?? .null)
    }

    @Test func aNewRateCountsAtOnceAndWithoutTheKeyThereIsNone() throws {
        let world = try World()
        let look = """
            SELECT coalesce(r.per_second::text, 'none') FROM fanfare.gates AS g LEFT JOIN fanfare.rates AS r ON r.id = g.rate_id
            """
        try world.put(campaign: "c", #""rate": "500/s""#)
        try world.schedule()
        #expect(try world.connection.column(look) == ["500"])
        let rule = "SELECT definition ->> 'rate' FROM fanfare.rule_versions"
        #expect(try world.connection.column(rule) == ["NULL"])
        try world.connection.execute("UPDATE fanfare.rates SET next_free = clock_timestamp() + interval '100 s'")
        try world.put(campaign: "c", #""rate": "1000/s""#)
        try world.schedule()
        #expect(try world.connection.column(look) == ["1000"])
        let owed =
            "SELECT round(extract(epoch FROM next_free - clock_timestamp())) BETWEEN 40 AND 50 FROM fanfare.rates"
        #expect(try world.connection.text(owed) == "t", "what it owes are pairs")
        #expect(try world.connection.run(LiveGates()).map(\.isPaced) == [true])
        try world.put(campaign: "c")
        try world.schedule()
        #expect(try world.connection.column(look) == ["none"])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.rates") == 0)
        #expect(try world.connection.run(LiveGates()).map(\.isPaced) == [false])
    }

    /// What goes in a tenth of a second, and at least one.
    @Test(arguments: [(100, 10), (19, 1), (1, 1), (4000, 50)], [#"{"everyone": true}"#, #"{"topic": "news"}"#])
    func batchesAreCutToIt(_ rate: (perSecond: Int, size: Int64), to: String) throws {
        let world = try World(settings: StageSettings(batchSize: 50))
        try world.devices(120)
        try world.connection.execute("SELECT fanfare.subscribe(id, 'news') FROM fanfare.devices")
        try world.put(campaign: "c", #""rate": "\#(rate.perSecond)/s", "to": \#(to)"#)
        try world.schedule()
        _ = try world.connection.query("SELECT fanfare.start_campaign('shop', 'c')")
        try world.plan()
        let sizes = "SELECT max(cardinality(device_ids)) * 1000 + sum(cardinality(device_ids)) FROM fanfare.batches"
        #expect(try world.connection.number(sizes) == rate.size * 1000 + 120)
    }

    @Test func aRateIsForgottenWithItsCampaign() throws {
        let world = try World()
        try world.put(campaign: "c", #""rate": "500/s""#)
        try world.schedule()
        _ = try world.connection.query("SELECT fanfare.drop_campaign('shop', 'c')")
        _ = try world.connection.run(FinishGates())
        try world.connection.execute("UPDATE fanfare.gates SET ended_at = now() - interval '2 years'")
        _ = try world.connection.runReturningCount(ForgetGates())
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.rates") == 0)
    }
}
