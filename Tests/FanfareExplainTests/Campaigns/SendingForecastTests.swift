import FanfareCore
import PostgresClient
import Testing

@testable import DaemonKit
@testable import FanfareCampaigns
@testable import FanfareExplain
@testable import FanfareProviders
@testable import FanfareTools

/// The forecast of a campaign's sending times from its definition.
@Suite struct SendingForecastTests {
    private static let begin = Timestamp(microseconds: 1_800_000_000_000_000)

    /// - Parameters:
    ///   - groups: the seconds from the start until devices are due, and their number; every other group is for Android.
    ///   - more: members of the campaign.
    ///   - policy: the app's policy.
    private func forecast(
        _ groups: [(Int64, Int64)],
        _ more: String = "",
        policy: String = "{}"
    ) throws -> SendingForecast {
        let json = #"{"app": "shop", "name": "n", "to": {"everyone": true}, "message": {"data": {"a": "b"}}\#(more)}"#
        let campaign = try CampaignDefinition(json: JSONValue(parsing: json))
        let limits = SendingLimits(try JSONValue(parsing: policy), lane: campaign.rule.definition.lane)
        let all = groups.enumerated().map { index, group in
            let provider = index % 2 == 0 ? "apns" : "fcm"
            return CampaignCounts.Group(provider: provider, dueAt: Self.after(group.0), devices: group.1)
        }
        return SendingForecast(all, from: Self.begin, campaign, limits)
    }

    private static func after(_ seconds: Int64) -> Timestamp {
        Timestamp(microseconds: begin.microseconds + seconds * 1_000_000)
    }

    @Test func withoutARateTheLastLeavesWhenItIsDue() throws {
        let forecast = try forecast([(0, 1_000_000), (3600, 5)])
        #expect(forecast.firstAt == Self.begin && forecast.lastAt == Self.after(3600) && forecast.expired == 0)
        #expect(try self.forecast([]).firstAt == nil)
    }

    @Test func itTakesTheLongerOfRateAndZones() throws {
        let rate = #", "rate": "100/s""#
        #expect(try forecast([(0, 100_000), (600, 100)], rate).seconds == 1001, "the second zone waits for the first")
        #expect(try forecast([(0, 100), (600, 100)], rate).seconds == 601, "the first zone is long through")
        #expect(try forecast([(-7200, 100), (60, 100)], rate).firstAt == Self.begin, "nothing leaves before it fires")
    }

    @Test func whatWaitsLongerThanItsTimeToLiveExpires() throws {
        let hour = #", "rate": "50/s", "ttl": "1h""#
        let many = try forecast([(0, 1_000_000)], hour)
        #expect(many.expired == 1_000_000 - 180_000 && many.seconds == 3600)
        // Expired deliveries use none of the rate: the second zone starts in time.
        let two = try forecast([(0, 200_000), (7200, 100)], hour)
        #expect(two.expired == 20_000 && two.lastAt == Self.after(7202))
        let passed = try forecast([(-3600, 7), (-3599, 40), (0, 1)], hour)
        #expect(passed.expired == 7)
        // Ten million at 100 per second take 28 hours.
        let standard = try forecast([(0, 10_000_000)], #", "rate": "100/s""#)
        #expect(standard.expired == 10_000_000 - 8_640_000 && standard.seconds == 86_400)
    }

    @Test func aRampIsSlowerInTheBeginning() throws {
        let rate = #", "rate": {"per": "100/s", "ramp": {"from": "20/s", "over": "100s"}}"#
        // 6,000 are sent during the ramp, 60 per second on average.
        #expect(try forecast([(0, 6000)], rate).seconds == 100)
        #expect(try forecast([(0, 8000)], rate).seconds == 120)
        // 20 t + 0.4 t² = 2000 after 50 s.
        #expect(try forecast([(0, 2000)], rate).seconds == 50)
        let late = try forecast([(3600, 1000)], rate)
        #expect(late.isRampWasted && late.seconds == 10)
        #expect(try !forecast([(0, 6000)], rate).isRampWasted)
    }

    @Test func othersWaitForTheCanary() throws {
        let canary = #", "canary": {"share": "1%", "wait": "10m"}, "rate": "100/s""#
        let forecast = try forecast([(0, 100_000)], canary)
        #expect(forecast.canary == 1000 && forecast.judgedAt == Self.after(600))
        #expect(forecast.seconds == 600 + 990)
        // The few deliveries of the first zone lack answers, so the second zone's are needed for a hundred.
        let few = try self.forecast([(0, 5000), (7200, 100_000)], canary)
        #expect(few.judgedAt.map { $0 > Self.after(7200) && $0 < Self.after(7202) } == true)
        let counted = try self.forecast([(0, 300)], #", "canary": {"devices": 500}"#)
        #expect(counted.canary == 300 && counted.lastAt == Self.begin)
        // The ramp restarts with the deliveries after the canary.
        let ramp = #", "canary": {"devices": 100}, "rate": {"per": "100/s", "ramp": {"from": "20/s", "over": "100s"}}"#
        #expect(try self.forecast([(0, 6100)], ramp).seconds == 600 + 100)
    }

    @Test func theSlowestRateOfAllSaysWhen() throws {
        let policy = #"{"rate": "100/s", "providers": {"fcm": {"rate": "10/s"}}}"#
        let both: [(Int64, Int64)] = [(0, 9000), (0, 500)]
        #expect(try forecast(both, policy: policy).seconds == 95, "all at a hundred a second")
        #expect(try forecast([(0, 9000), (0, 1000)], policy: policy).seconds == 100, "Android's at ten")
        #expect(try forecast(both, #", "rate": "50/s""#, policy: policy).seconds == 190)
        #expect(try forecast([(0, 1000)], #", "rate": "500/s""#, policy: policy).seconds == 10)
        #expect(try forecast(both, #", "lane": "transactional""#, policy: policy).isLimited == false)
        #expect(try forecast([(0, 10), (0, 1000)], #", "ttl": "60s""#, policy: policy).expired == 400)
        // The ramp ends where it reaches the app's rate: after 80 of 180 seconds.
        let ramp = #", "rate": {"per": "200/s", "ramp": {"from": "20/s", "over": "180s"}}"#
        #expect(try forecast([(0, 4800 + 2000)], ramp, policy: policy).seconds == 80 + 20)
    }
}
