import PostgresClient
import TestKit
import Testing

@testable import APIKit
@testable import FanfareConsole
@testable import FanfareConsoleView
@testable import FanfareStore
@testable import FanfareTools

/// Tests of the page of providers: their answers, and what daemons report.
@Suite(.database) struct ProvidersPageTests {
    @Test func answersAreToldByProviderAndReason() async throws {
        try await APIWorld.with { api in
            for sql in [
                "SELECT fanfare.register_device('shop', 'apns', repeat('ab', 32), user_id => 'u')",
                "SELECT fanfare.register_device('bank', 'fcm', 'a:bcd', user_id => 'u')",
                """
                INSERT INTO fanfare.instances (name, host, pid, version, schema_version, lease_until, report)
                VALUES ('push-1', 'h', 1, '9.9', 1, now() + interval '1 hour', '{"breakers": {"shop/apns/production": "open"}}')
                """,
                """
                INSERT INTO fanfare.stats_pending (rule_version, target_id, outcome, deliveries, at)
                SELECT 1, t.id, x.code, x.count, now() - interval '1 minute'
                FROM fanfare.targets AS t, (VALUES (1, 90), (117, 10), (4, 1000)) AS x (code, count)
                WHERE t.provider = 'apns' AND t.environment = 'production'
                """,
                """
                INSERT INTO fanfare.stats_pending (rule_version, target_id, outcome, deliveries, at)
                SELECT 1, t.id, 1, 5, now() - interval '1 minute' FROM fanfare.targets AS t WHERE t.provider = 'fcm'
                """,
            ] { _ = try await api.rows(sql) }
            let browser = try await api.console()
            let page = try await browser.scan("/providers")
            #expect(page.text.contains("breaker open") && page.text.contains("only probes are sent"))
            #expect(page.text.contains("are rejected, InvalidProviderToken"))
            #expect(page.text.contains("100, 90.0 % accepted"), "what is too late was asked of nobody")
            let other = try await browser.scan("/providers?app=bank")
            #expect(!other.text.contains("InvalidProviderToken"))
            #expect(
                other.text.contains("fcm OK") && other.text.contains("push-1OK"),
                "no breaker of it ever opened"
            )
        }
    }

    @Test func aRateIsOfTheTimeThatIsCounted() {
        // One per second: five minutes and 59 seconds, because older ones are counted by whole minutes.
        let (minute, second): (Int64, Int64) = (1_800_000_000, 1_000_000)
        let now = (minute + 59) * second
        #expect(ProviderDigest.recentSince(now) == (minute - 300) * second)
        let row = AnswersByReasonRow(
            app: "shop",
            provider: "apns",
            environment: "production",
            outcome: "accepted",
            reason: "delivered",
            deliveries: 359,
            lastAt: Timestamp(microseconds: now)
        )
        let rows: ProviderDigest.Rows = (answers: [], recent: [row], newest: [], outcomes: [], times: [], meanings: [])
        let key = ProviderKey(app: "shop", provider: "apns", environment: "production")
        let card = ProviderCard(key, ProviderDigest(rows, .hour, at: now), .hour, [], [], at: now)
        #expect(card.perSecond == "1/s over the last 5 min 59 s")
    }
}
