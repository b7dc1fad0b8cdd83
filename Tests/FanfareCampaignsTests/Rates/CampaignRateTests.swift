import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareCampaigns
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The rate in a campaign's definition.
@Suite(.database)
struct CampaignRateTests {
    private static let less = "at least 1/s; for less use a cap or smaller audiences"
    private static let how = "write how many pushes a second, as in 500/s"
    private static let most = "at most 1000000/s; without a rate it goes as fast as it can"

    @Test(arguments: [
        (#""0/s""#, "0/s is 0/s", less), (#""30/m""#, "30/m is 0.5/s", less), (#""20/m""#, "20/m is 0.3333/s", less),
        (#""1/h""#, "1/h is 0.0003/s", less), (#""90/m""#, "90/m is 1.5/s", how),
        (#""7200/h""#, "7200/h is 2/s", how), (#""1000001/s""#, "1000001/s is 1000001/s", most),
        (#""500""#, "'500' is not a rate", how), (#""/s""#, "'/s' is not a rate", how),
        (#""007/s""#, "'007/s' is not a rate", how), (#""1.5/s""#, "'1.5/s' is not a rate", how),
        (#""9999999999/s""#, "'9999999999/s' is not a rate", how), (#""5/d""#, "'5/d' is not a rate", how),
        (#""-5/s""#, "'-5/s' is not a rate", how),
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

    @Test(arguments: [
        ("500", "", "is not a rate", how), ("null", "", "is not a rate", how), ("[]", "", "is not a rate", how),
        ("{}", ".per", "is missing", how), (#"{"per": 5}"#, ".per", "is not a rate", how),
        (#"{"per": "30/m"}"#, ".per", "30/m is 0.5/s", less),
        (#"{"per": "5/s", "rampart": {}}"#, ".rampart", "unknown key", nil),
        (#"{"per": "5/s", "ramp": "1/s"}"#, ".ramp", "is not an object", #"write {"from": "50/s", "over": "30m"}"#),
        (#"{"per": "5/s", "ramp": null}"#, ".ramp", "is not an object", #"write {"from": "50/s", "over": "30m"}"#),
        (#"{"per": "5/s", "ramp": {"until": "1h"}}"#, ".ramp.until", "unknown key", nil),
        (#"{"per": "5/s", "ramp": {}}"#, ".ramp.from", "is missing", how),
        (#"{"per": "5/s", "ramp": {"from": "0/s", "over": "1m"}}"#, ".ramp.from", "0/s is 0/s", less),
        (#"{"per": "5/s", "ramp": {"from": "1/s"}}"#, ".ramp.over", "is missing", TimeSpan.hint),
        (#"{"per": "5/s", "ramp": {"from": "1/s", "over": 60}}"#, ".ramp.over", "is not a duration", TimeSpan.hint),
        (#"{"per": "5/s", "ramp": {"from": "1/s", "over": "0s"}}"#, ".ramp.over", "is not a duration", TimeSpan.hint),
        (
            #"{"per": "5/s", "ramp": {"from": "1/s", "over": "3651d"}}"#, ".ramp.over", "is not a duration",
            TimeSpan.hint
        ),
        (
            #"{"per": "5/s", "ramp": {"from": "5/s", "over": "1m"}}"#, ".ramp.from", "5/s is not below 5/s",
            "a ramp grows from it to per: write less, or leave the ramp out"
        ),
    ])
    func whatIsNoRateIsRefusedAlikeByBoth(rate: String, place: String, reason: String, hint: String?) throws {
        let world = try World()
        let error = #expect(throws: PostgresError.self) { try world.put(campaign: "c", #""rate": \#(rate)"#) }
        #expect(error?.message == "rate\(place): \(reason)")
        let problem = #expect(throws: RuleProblem.self) { try Self.campaign(rate) }
        #expect(problem?.path == "rate\(place)")
        #expect(problem?.reason == reason)
        guard let hint else { return }
        #expect(error?.hint == hint && problem?.hint == hint)
    }

    @Test(arguments: ["90s", "30m", "4h", "7d", "007s", "3650d", "1.5h", "x", "1w", "", "99999999999999999999s"])
    func durationsAreReadAlikeByBoth(span: String) throws {
        let world = try World()
        let seconds = try world.connection.text("SELECT fanfare.span_seconds($1)", span)
        #expect(seconds == TimeSpan(span).map { "\($0.seconds)" })
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

    @Test func aRampIsWrittenAgainAsItWasRead() throws {
        let text = #"{"per": "500/s", "ramp": {"from": "50/s", "over": "30m"}}"#
        let campaign = try Self.campaign(text)
        let json = try JSONValue(parsing: text)
        #expect(campaign.json["rate"] == json)
        #expect(campaign.rate?.text == "500/s, growing from 50/s over 30m")
        #expect(try Self.campaign(#"{"per": "500/s"}"#).json["rate"] == "500/s")
    }

    /// A ramp begins when the campaign starts, or at once if it is stored while a run is in progress; storing it again
    /// does not restart it.
    @Test func aRampBegins() throws {
        let world = try World()
        let look = "SELECT coalesce(ramp_from, 0) || ' ' || coalesce(ramp_seconds, 0) FROM fanfare.rates"
        let began = "SELECT ramp_began_at FROM fanfare.rates"
        let ramp = #""rate": {"per": "500/s", "ramp": {"from": "50/s", "over": "30m"}}"#
        try world.put(campaign: "c", ramp)
        try world.schedule()
        #expect(try world.connection.text(look) == "50 1800")
        #expect(try world.connection.column(began) == ["NULL"])
        try world.connection.execute("SELECT fanfare.begin_ramp(rule_id) FROM fanfare.rates")
        let first = try world.connection.text(began)
        try world.put(campaign: "c", ramp.replacing("500/s", with: "600/s"))
        try world.schedule()
        let then = try world.connection.text(began)
        #expect(first != nil && then == first)
        try world.put(campaign: "c", #""rate": "500/s""#)
        try world.schedule()
        #expect(try world.connection.text(look) == "0 0")
        try world.connection.execute("SELECT fanfare.begin_ramp(rule_id) FROM fanfare.rates")
        #expect(try world.connection.column(began) == ["NULL"], "it has none")
        _ = try world.connection.query("SELECT fanfare.start_campaign('shop', 'c')")
        try world.put(campaign: "c", ramp)
        try world.schedule()
        #expect(try world.connection.text("SELECT ramp_began_at > now() - interval '1 min' FROM fanfare.rates") == "t")
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
        #expect(try world.connection.text(owed) == "t", "what it owes are deliveries")
        #expect(try world.connection.run(LiveGates()).map(\.isPaced) == [true])
        try world.put(campaign: "c")
        try world.schedule()
        #expect(try world.connection.column(look) == ["none"])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.rates") == 0)
        #expect(try world.connection.run(LiveGates()).map(\.isPaced) == [false])
    }

    /// A batch holds what the rate allows in a tenth of a second, and at least one; for a ramp, at its slowest.
    @Test(arguments: [(100, 10), (19, 1), (1, 1), (4000, 50)], [#"{"everyone": true}"#, #"{"topic": "news"}"#])
    func batchesAreCutToIt(_ rate: (perSecond: Int, size: Int64), to: String) throws {
        let world = try World(settings: StageSettings(batchSize: 50))
        try world.devices(120)
        try world.connection.execute("SELECT fanfare.subscribe(id, 'news') FROM fanfare.devices")
        let ramp = #"{"per": "1000000/s", "ramp": {"from": "\#(rate.perSecond)/s", "over": "1h"}}"#
        let json = rate.perSecond == 100 ? ramp : "\"\(rate.perSecond)/s\""
        try world.put(campaign: "c", #""rate": \#(json), "to": \#(to)"#)
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
        _ = try world.connection.run(SQL.finishGates())
        try world.connection.execute("UPDATE fanfare.gates SET ended_at = now() - interval '2 years'")
        _ = try world.connection.runReturningCount(SQL.forgetGates())
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.rates") == 0)
    }

    /// Otherwise a campaign that is paused, aborted or checked early would have reached one provider only.
    @Test func providersGoInProportion() throws {
        let world = try World()
        try world.connection.execute(
            """
            SELECT fanfare.register_device('shop', 'apns', 'ca' || lpad(to_hex(n), 62, '0'), 'i-' || n) FROM generate_series(1, 200) AS n;
            SELECT fanfare.register_device('shop', 'fcm', 'token-' || n, 'a-' || n) FROM generate_series(1, 400) AS n
            """
        )
        try world.put(campaign: "sale", #""rate": "40/s""#)
        try world.schedule()
        _ = try world.connection.query("SELECT fanfare.start_campaign('shop', 'sale')")
        try world.plan()
        let iPhones = try world.connection.column(
            """
            SELECT sum(cardinality(b.device_ids)) FILTER (WHERE t.provider = 'apns') OVER w::float8 / sum(cardinality(b.device_ids)) OVER w
            FROM fanfare.batches AS b JOIN fanfare.targets AS t ON t.id = b.target_id WINDOW w AS (ORDER BY b.not_before, b.id)
            """
        ).map { Double($0) ?? 0 }
        #expect(iPhones.count == 150, "batches of what goes in a tenth of a second")
        #expect(iPhones.dropFirst(10).allSatisfy { (0.28...0.38).contains($0) })
    }
}
