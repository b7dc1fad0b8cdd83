import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Events that are newer than a rule that has not been checked yet.
@Suite(.database)
struct JudgementTests {
    let world: World
    let device: Int64

    init() throws {
        world = try World()
        device = try world.device("aa", user: "u")
    }

    /// Stores a rule without checking it.
    private func put(_ name: String, event: String = "e", to: String = #"{"users": "$.u"}"#, title: String = "T") throws
    {
        _ = try world.connection.query(
            "SELECT fanfare.put_rule($1::jsonb)",
            #"{"app": "shop", "name": "\#(name)", "event": "\#(event)", "to": \#(to), "message": {"notification": {"title": "\#(title)"}}}"#
        )
    }

    private func judge() throws {
        try RuleChecker(logger: world.context.logger).check(on: world.connection)
    }

    /// Returns a planner that has started, which checks the existing rules.
    private func planner() throws -> PlannerLoop {
        var loop = world.loop()
        _ = try loop.begin(on: world.connection)
        return loop
    }

    @Test(arguments: [false, true])
    func theyWaitForTheJudgementAndAreThenPlannedAtOnce(inOneTransaction: Bool) throws {
        var loop = try planner()
        if inOneTransaction { try world.connection.execute("BEGIN") }
        try put("r")
        let events = try (0..<20).map { _ in try world.emit("e", #"{"u": "u"}"#) }
        if inOneTransaction { try world.connection.execute("COMMIT") }
        let others = try world.emit("other")
        let wait = try loop.wakeUp(wasNotified: true, on: world.connection)
        #expect(try Set(events.map(world.fate)) == ["waiting"])
        #expect(try world.detail(events[0]) == "waits for a daemon to check rule shop/r")
        #expect(try world.fate(others) == "unmatched", "it is of no concern to other types")
        #expect(wait <= .milliseconds(50))
        try judge()
        _ = try loop.wakeUp(wasNotified: false, on: world.connection)
        for event in events { #expect(try world.recipients(event) == [device]) }
    }

    @Test func noEventGoesByARuleThatWasMadeAfterIt() throws {
        var loop = try planner()
        let before = try world.emit("e", #"{"u": "u"}"#)
        try put("r")
        let after = try world.emit("e", #"{"u": "u"}"#)
        _ = try loop.wakeUp(wasNotified: true, on: world.connection)
        #expect(try world.fate(before) == "unmatched")
        #expect(try world.fate(after) == "waiting")
        try judge()
        _ = try loop.wakeUp(wasNotified: false, on: world.connection)
        #expect(try world.fate(after) == "planned")
    }

    @Test func whereTheRuleIsRefusedTheyGoByWhatIsLeft() throws {
        try world.rule("good", event: "both", to: #"{"users": "$.u"}"#)
        var loop = try planner()
        try put("bad", event: "e")
        try put("bad-too", event: "both")
        let none = try world.emit("e", #"{"u": "u"}"#)
        let one = try world.emit("both", #"{"u": "u"}"#)
        _ = try loop.wakeUp(wasNotified: true, on: world.connection)
        #expect(try [none, one].map(world.fate) == ["waiting", "waiting"])
        let refused = try world.connection.run(UncheckedRules()).map(\.id)
        _ = try world.connection.runReturningCount(SQL.refuseRules(refused, refused.map { _ in "no good" }))
        _ = try loop.wakeUp(wasNotified: false, on: world.connection)
        #expect(try world.fate(none) == "unmatched")
        #expect(try world.recipients(one) == [device])
    }

    @Test func aVersionInForceIsGoneByUntilTheNextIsJudged() throws {
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        var loop = try planner()
        try put("r", title: "U")
        let event = try world.emit("e", #"{"u": "u"}"#)
        _ = try loop.wakeUp(wasNotified: true, on: world.connection)
        #expect(try world.recipients(event) == [device])
    }

    @Test func aRuleThatIsDroppedUnjudgedKeepsNobodyWaiting() throws {
        var loop = try planner()
        try put("r")
        let event = try world.emit("e", #"{"u": "u"}"#)
        _ = try loop.wakeUp(wasNotified: true, on: world.connection)
        #expect(try world.fate(event) == "waiting")
        try world.connection.execute("SELECT fanfare.drop_rule('shop', 'r')")
        _ = try loop.wakeUp(wasNotified: false, on: world.connection)
        #expect(try world.fate(event) == "unmatched")
    }

    @Test func whoStartsJudgesBeforeTheFirstRound() throws {
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try put("r", to: #"{"users": "$.v"}"#)
        let event = try world.emit("e", #"{"v": "u"}"#)
        _ = try planner()
        #expect(try world.recipients(event) == [device], "by the newest version, not by the one that was in force")
    }

    @Test func theyCanBeCancelledMeanwhile() throws {
        var loop = try planner()
        try put("r")
        let event = try world.emit("e", #"{"u": "u"}"#)
        _ = try loop.wakeUp(wasNotified: true, on: world.connection)
        #expect(try world.connection.text("SELECT fanfare.cancel($1::bigint)", "\(event)") == "t")
        try judge()
        _ = try loop.wakeUp(wasNotified: false, on: world.connection)
        #expect(try world.fate(event) == "cancelled")
    }
}
