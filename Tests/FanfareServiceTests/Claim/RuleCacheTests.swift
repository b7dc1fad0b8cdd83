import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

@Suite(.database)
struct RuleCacheTests {
    @Test func whatNobodyAsksForIsForgotten() throws {
        let world = try World()
        let rules = Set(try (0..<3).map { Int32(try world.rule("r\($0)", event: "e", to: #"{"everyone": true}"#)) })
        let used: Set = [try #require(rules.first)]
        let cache = RuleCache()
        #expect(try Set(cache.load(rules, from: world.connection, at: 0).keys) == rules)
        var now: Microseconds = 0
        for minute in 1...19 {
            now = Microseconds(minute) * Micros.minute
            #expect(try Set(cache.load(used, from: world.connection, at: now).keys) == used)
        }
        #expect(cache.count == 3)
        _ = try cache.load(used, from: world.connection, at: 20 * Micros.minute)
        #expect(cache.count == 1)
        // A cached rule is used without another query.
        try world.connection.execute("UPDATE fanfare.rule_versions SET definition = '{}'")
        #expect(try cache.load(used, from: world.connection, at: 25 * Micros.minute).count == 1)
        #expect(try cache.load(rules, from: world.connection, at: 25 * Micros.minute).count == 1)
        #expect(try cache.load(used, from: world.connection, at: 100 * Micros.minute).isEmpty)
        #expect(cache.count == 0)
    }
}
